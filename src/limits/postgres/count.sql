-- Counts what waits for each account in both of its windows, as far as they have room; the
-- numbers are microseconds. Left out are accounts without a row, those whose row another server
-- changes at the moment, and, unless $5, those of which a key may be banned.
--
-- $1 accounts, $2 requests, $3 and $4 the account's limits.
WITH clock AS MATERIALIZED (
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
),
-- Of a row's versions the newest is found first, because the index has it last: while a long
-- transaction keeps old ones, there are thousands of them. In one order in every batch, so that
-- no two wait for each other.
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
          day_closes, day_requests - c.admitted
