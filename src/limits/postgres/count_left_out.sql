-- Counts as count.sql does, which left these accounts out, and adds their rows if they have none.
-- Left out are those of which a key may be banned, unless $5.
WITH clock AS MATERIALIZED (
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
)
-- In one order in every batch, so that no two wait for each other.
INSERT INTO limits_accounts AS c
SELECT account, now + least(admitted, 1) * 60000000, admitted,
       now + least(admitted, 1) * 86400000000, admitted, per_minute, per_day, admitted, 0
FROM (SELECT *, least(requests, per_minute, per_day) AS admitted
      FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
           AS a (account, requests, per_minute, per_day)) AS asked, clock
ORDER BY account
ON CONFLICT (account) DO UPDATE
SET {windows}
WHERE $5 OR c.bans_until <= (SELECT now FROM clock)
RETURNING account, (SELECT now FROM clock), minute_closes, minute_requests - admitted, day_closes,
          day_requests - admitted
