-- Admits a batch of requests in one atomic step: of each key, all that wait for it. It decides
-- as the limiter in memory does; the numbers are its windows and bans in microseconds.
--
-- $1 accounts, $2 keys, $3 requests, $4 and $5 the account's limits, $6 the key's unbanned_at;
-- $7 how many there are. generate_series has the planner expect 1,000 of them, so that it
-- joins by hashing; LIMIT has it look each key and account up, however large the tables are.
WITH asked AS MATERIALIZED (
    SELECT a.*, n.now, k.banned_until, NOT is_shut AND k.banned_until IS NULL AS is_counted
    FROM (SELECT *, per_minute = 0 OR per_day = 0 AS is_shut
          FROM ROWS FROM (unnest($1::bigint[]), unnest($2::bigint[]), unnest($3::int[]),
                          unnest($4::bigint[]), unnest($5::bigint[]), unnest($6::bigint[]),
                          generate_series(1, $7::int))
               AS a (account, key, requests, per_minute, per_day, unbanned_at, position)) a
    CROSS JOIN (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
                OFFSET 0) n
    LEFT JOIN LATERAL (SELECT banned_until FROM limits_keys k
                       WHERE k.key = a.key AND NOT a.is_shut AND k.ban_seconds > 0
                         AND k.banned_until > n.now AND k.unbanned_at >= a.unbanned_at
                       LIMIT 1) k ON true
),
-- Without the banned, and those whose limit is 0: the operator chose it, so it brings no strike.
eligible AS (
    SELECT *, sum(requests) OVER (PARTITION BY account ORDER BY position) - requests AS ahead
    FROM asked WHERE is_counted
),
-- In one order in every batch, so that no two wait for each other.
counted AS (
    INSERT INTO limits_accounts AS c
    SELECT account, now + 60000000, admitted, now + 86400000000, admitted, per_minute, per_day,
           admitted
    FROM (SELECT account, max(now) AS now, max(per_minute) AS per_minute,
                 max(per_day) AS per_day,
                 least(sum(requests), max(per_minute), max(per_day)) AS admitted
          FROM eligible GROUP BY account) e
    ORDER BY account
    ON CONFLICT (account) DO UPDATE
    SET (minute_closes, minute_requests, day_closes, day_requests, per_minute, per_day, admitted)
        = (SELECT
        -- Clamped: the clock may have been set back.
        CASE WHEN c.minute_closes > now THEN least(c.minute_closes, now + 60000000)
             WHEN given > 0 THEN now + 60000000 ELSE c.minute_closes END,
        minute_used + given,
        CASE WHEN c.day_closes > now THEN least(c.day_closes, now + 86400000000)
             WHEN given > 0 THEN now + 86400000000 ELSE c.day_closes END,
        day_used + given,
        excluded.per_minute, excluded.per_day, given
        FROM (SELECT excluded.minute_closes - 60000000 AS now) n,
        LATERAL (SELECT CASE WHEN c.minute_closes > now THEN c.minute_requests ELSE 0 END
                            AS minute_used,
                        CASE WHEN c.day_closes > now THEN c.day_requests ELSE 0 END
                            AS day_used) u,
        LATERAL (SELECT greatest(0, least(excluded.admitted, excluded.per_minute - minute_used,
                                          excluded.per_day - day_used)) AS given) g)
    RETURNING account, minute_closes, minute_requests, day_closes, day_requests, admitted
),
refused AS (
    SELECT key, now, per_minute, unbanned_at, requests
           - greatest(0, least(requests, admitted - ahead)) AS refused
    FROM eligible JOIN counted USING (account)
),
struck AS (
    INSERT INTO limits_keys AS k (key, closes, strikes, ban_seconds, banned_until, unbanned_at,
                                  struck_at, per_minute, refused, limited)
    SELECT key, CASE WHEN begins THEN now ELSE now + 60000000 END,
           CASE WHEN begins THEN 0 ELSE refused - 1 END,
           CASE WHEN begins THEN 300 ELSE 0 END,
           CASE WHEN begins THEN now + 300000000 ELSE 0 END,
           unbanned_at, now, per_minute, refused, least(refused, per_minute)
    FROM (SELECT *, refused > per_minute AS begins FROM refused WHERE refused > 0) r
    ORDER BY key
    ON CONFLICT (key) DO UPDATE
    SET (closes, strikes, ban_seconds, banned_until, unbanned_at, struck_at, per_minute, refused,
         limited) = (SELECT
        CASE WHEN is_banned THEN k.closes WHEN begins THEN now
             WHEN first = 1 THEN now + 60000000 ELSE least(k.closes, now + 60000000) END,
        CASE WHEN is_banned THEN k.strikes WHEN begins THEN 0
             ELSE before + excluded.refused - first END,
        CASE WHEN begins THEN length ELSE last_seconds END,
        CASE WHEN begins THEN now + length * 1000000::bigint ELSE k.banned_until END,
        greatest(k.unbanned_at, excluded.unbanned_at), now, excluded.per_minute,
        excluded.refused,
        CASE WHEN is_banned THEN -1
             WHEN begins THEN first + greatest(excluded.per_minute - before, 1) - 1
             ELSE excluded.refused END
        -- The first refusal opens a minute and is no strike; a ban that was lifted does not
        -- lengthen the next.
        FROM (SELECT excluded.struck_at AS now,
                     CASE WHEN k.unbanned_at < excluded.unbanned_at THEN 0
                          ELSE k.ban_seconds END AS last_seconds) n,
        LATERAL (SELECT last_seconds > 0 AND k.banned_until > now AS is_banned,
                        CASE WHEN k.closes > now THEN 0 ELSE 1 END AS first,
                        CASE WHEN k.closes > now THEN k.strikes ELSE 0 END AS before,
                        CASE WHEN last_seconds = 0 OR k.banned_until + 86400000000 <= now
                             THEN 300 ELSE least(last_seconds * 2, 3600) END AS length) b,
        LATERAL (SELECT NOT is_banned AND excluded.refused > first
                        AND before + excluded.refused - first >= excluded.per_minute
                        AS begins) s)
    RETURNING key, limited, banned_until
)
SELECT a.now, a.banned_until, coalesce(c.minute_closes, w.minute_closes),
       coalesce(c.minute_requests - c.admitted, w.minute_requests),
       coalesce(c.day_closes, w.day_closes),
       coalesce(c.day_requests - c.admitted, w.day_requests), s.limited, s.banned_until
FROM asked a LEFT JOIN counted c USING (account) LEFT JOIN struck s USING (key)
     LEFT JOIN LATERAL (SELECT * FROM limits_accounts w
                        WHERE a.is_shut AND w.account = a.account LIMIT 1) w ON true
ORDER BY a.position
