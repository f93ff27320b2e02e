-- Counts a batch of requests in the minute and day windows of each account, up to the account's
-- limits. Returns the counts from before the batch. Times are in microseconds.
-- src/store/postgres/rate_limiter.rs explains why this is one statement.
--
-- For an account without a row, `asked` computes the admitted requests. For an account with a row,
-- DO UPDATE locks the row and computes the admitted requests as `given`.
--
-- $1 contains the accounts and $2 their numbers of requests. $3 and $4 contain their limits per
-- minute and per day. The limits are columns only so that DO UPDATE can read them from EXCLUDED.
WITH clock AS MATERIALIZED (
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
)
-- Every batch locks rows in the order of their accounts, which prevents deadlocks.
INSERT INTO limits_accounts AS c (account, minute_closes, minute_requests, day_closes, day_requests,
                                  per_minute, per_day, admitted, counted_at)
SELECT account, now + least(admitted, 1) * 60000000, admitted,
       now + least(admitted, 1) * 86400000000, admitted, per_minute, per_day, admitted, now
FROM (SELECT *, least(requests, per_minute, per_day) AS admitted
      FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
           AS a (account, requests, per_minute, per_day)) AS asked, clock
ORDER BY account
ON CONFLICT (account) DO UPDATE
SET (minute_closes, minute_requests, day_closes, day_requests, admitted, counted_at) = (SELECT
    -- If the clock was set back, the stored end of an open window may be too late. least() ends the
    -- window at most one window length from now.
    CASE WHEN c.minute_closes > now THEN least(c.minute_closes, now + 60000000)
         WHEN given > 0 THEN now + 60000000 ELSE c.minute_closes END,
    minute_used + given,
    CASE WHEN c.day_closes > now THEN least(c.day_closes, now + 86400000000)
         WHEN given > 0 THEN now + 86400000000 ELSE c.day_closes END,
    day_used + given, given, now
    -- If another batch counted while this batch waited for the row, use the row's later time. A
    -- lead of more than a second means that the clock was set back, because no batch waits that
    -- long. OFFSET makes PostgreSQL evaluate `now` once.
    FROM (SELECT CASE WHEN c.counted_at - excluded.counted_at BETWEEN 0 AND 1000000
                      THEN c.counted_at ELSE excluded.counted_at END AS now OFFSET 0) n,
    LATERAL (SELECT CASE WHEN c.minute_closes > now THEN c.minute_requests ELSE 0 END
                        AS minute_used,
                    CASE WHEN c.day_closes > now THEN c.day_requests ELSE 0 END AS day_used) u,
    LATERAL (SELECT greatest(0, least(excluded.admitted, excluded.per_minute - minute_used,
                                      excluded.per_day - day_used)) AS given) g)
RETURNING account, counted_at, minute_closes, minute_requests - admitted, day_closes,
          day_requests - admitted
