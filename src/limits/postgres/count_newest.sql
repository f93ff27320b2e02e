-- Counts as count.sql does, with the same parameters and columns. It finds the newest version of an
-- account's row first, because the index has it last: while a transaction writes for long, there are
-- thousands of old ones. Left out are also accounts without a row, and those whose row another server
-- changes at the moment.
WITH {clock},
-- In one order in every batch, so that no two wait for each other.
asked AS MATERIALIZED (
    SELECT account, least(requests, per_minute, per_day) AS admitted, per_minute, per_day,
           (SELECT ctid FROM limits_accounts AS newest
            WHERE newest.account >= a.account AND newest.account <= a.account
            ORDER BY newest.account DESC LIMIT 1) AS place
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
         AS a (account, requests, per_minute, per_day)
    ORDER BY account
)
UPDATE limits_accounts AS c
SET {windows}
FROM asked
WHERE c.ctid = place AND ($5 OR c.bans_until <= (SELECT now FROM clock))
RETURNING c.account, (SELECT now FROM clock), minute_closes, minute_requests - c.admitted,
          day_closes, day_requests - c.admitted, (SELECT keeps_old_rows FROM clock)
