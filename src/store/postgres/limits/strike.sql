-- Counts the refusals of each key as strikes, and begins its ban if they are too many. The first
-- opens a minute, in whose first two seconds there are none: a burst does not ban. Numbers are
-- microseconds. The account's row gets the end of the ban.
--
-- $1 keys, $2 their accounts, $3 refusals, $4 the account's limit a minute, $5 the key's
-- unbanned_at.
WITH clock AS MATERIALIZED (
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
),
-- Every batch locks rows in one order, so that no two wait for each other.
struck AS (
    INSERT INTO limits_keys AS k (key, account, closes, strikes, ban_seconds, banned_until,
                                  unbanned_at, struck_at, per_minute, refused, limited)
    SELECT key, account, now + 60000000, 0, 0, 0, unbanned_at, now, per_minute, refused, refused
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
         AS a (key, account, refused, per_minute, unbanned_at), clock
    ORDER BY key
    ON CONFLICT (key) DO UPDATE
    SET (closes, strikes, ban_seconds, banned_until, unbanned_at, struck_at, per_minute, refused,
         limited) = (SELECT
        CASE WHEN is_banned THEN k.closes WHEN begins THEN now
             WHEN is_first THEN now + 60000000 ELSE least(k.closes, now + 60000000) END,
        CASE WHEN is_banned THEN k.strikes WHEN begins OR is_first THEN 0
             WHEN is_burst THEN k.strikes ELSE k.strikes + excluded.refused END,
        CASE WHEN begins THEN length ELSE last_seconds END,
        CASE WHEN begins THEN now + length * 1000000::bigint ELSE k.banned_until END,
        greatest(k.unbanned_at, excluded.unbanned_at), now, excluded.per_minute,
        excluded.refused,
        CASE WHEN is_banned THEN -1
             WHEN begins THEN greatest(excluded.per_minute - k.strikes, 1) - 1
             ELSE excluded.refused END
        -- The time as in count.sql. A ban that was lifted does not lengthen the next.
        FROM (SELECT CASE WHEN k.struck_at - excluded.struck_at BETWEEN 0 AND 1000000
                          THEN k.struck_at ELSE excluded.struck_at END AS now,
                     CASE WHEN k.unbanned_at < excluded.unbanned_at THEN 0
                          ELSE k.ban_seconds END AS last_seconds) n,
        LATERAL (SELECT last_seconds > 0 AND k.banned_until > now AS is_banned,
                        k.closes <= now AS is_first,
                        least(k.closes, now + 60000000) - 58000000 > now AS is_burst,
                        CASE WHEN last_seconds = 0 OR k.banned_until + 86400000000 <= now
                             THEN 300 ELSE least(last_seconds * 2, 3600) END AS length) b,
        LATERAL (SELECT NOT (is_banned OR is_first OR is_burst)
                        AND k.strikes + excluded.refused >= excluded.per_minute AS begins) s)
    RETURNING key, account, struck_at, refused, limited, banned_until
),
-- Accounts after keys, and in one order.
told AS (
    INSERT INTO limits_accounts AS c
    SELECT account, 0, 0, 0, 0, 0, 0, 0, max(banned_until), 0
    FROM struck WHERE limited >= 0 AND limited < refused GROUP BY account ORDER BY account
    ON CONFLICT (account) DO UPDATE
    SET bans_until = greatest(c.bans_until, excluded.bans_until)
)
SELECT key, struck_at, limited, banned_until FROM struck
