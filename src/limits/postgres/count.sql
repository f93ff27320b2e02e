-- Counts what waits for each account in both of its windows, as far as they have room; the
-- numbers are microseconds. An account of which a key may be banned is left out, unless $5.
--
-- $1 accounts, $2 requests, $3 and $4 the account's limits.
WITH {clock}
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
          day_requests - admitted, (SELECT keeps_old_rows FROM clock)
