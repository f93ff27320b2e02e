-- Counts what waits for each account in both of its windows, as far as they have room; the
-- numbers are the windows in microseconds. An account of which a key may be banned is left out,
-- unless $5.
--
-- $1 accounts, $2 requests, $3 and $4 the account's limits.
WITH clock AS MATERIALIZED (
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
)
-- In one order in every batch, so that no two wait for each other.
INSERT INTO limits_accounts AS c
SELECT account, now + least(admitted, 1) * 60000000, admitted,
       now + least(admitted, 1) * 86400000000, admitted, per_minute, per_day, admitted, 0
FROM (SELECT *, least(requests, per_minute, per_day) AS admitted
      FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
           AS a (account, requests, per_minute, per_day)) a, clock
ORDER BY account
ON CONFLICT (account) DO UPDATE
SET (minute_closes, minute_requests, day_closes, day_requests, admitted) = (SELECT
    -- Clamped: the clock may have been set back.
    CASE WHEN c.minute_closes > now THEN least(c.minute_closes, now + 60000000)
         WHEN given > 0 THEN now + 60000000 ELSE c.minute_closes END,
    minute_used + given,
    CASE WHEN c.day_closes > now THEN least(c.day_closes, now + 86400000000)
         WHEN given > 0 THEN now + 86400000000 ELSE c.day_closes END,
    day_used + given, given
    FROM (SELECT (SELECT now FROM clock) AS now) n,
    LATERAL (SELECT CASE WHEN c.minute_closes > now THEN c.minute_requests ELSE 0 END
                        AS minute_used,
                    CASE WHEN c.day_closes > now THEN c.day_requests ELSE 0 END AS day_used) u,
    LATERAL (SELECT greatest(0, least(excluded.admitted, excluded.per_minute - minute_used,
                                      excluded.per_day - day_used)) AS given) g)
WHERE $5 OR c.bans_until <= (SELECT now FROM clock)
RETURNING account, (SELECT now FROM clock), minute_closes, minute_requests - admitted, day_closes,
          day_requests - admitted
