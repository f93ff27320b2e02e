-- Counts the refusals of each key as strikes, and begins its ban if they are too many. Numbers are
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
    SELECT key, account, CASE WHEN begins THEN now ELSE now + 60000000 END,
           CASE WHEN begins THEN 0 ELSE refused - 1 END,
           CASE WHEN begins THEN 300 ELSE 0 END,
           CASE WHEN begins THEN now + 300000000 ELSE 0 END,
           unbanned_at, now, per_minute, refused, least(refused, per_minute)
    FROM (SELECT *, refused > per_minute AS begins
          FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
               AS a (key, account, refused, per_minute, unbanned_at)) a, clock
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
        -- The time as in count.sql. The first refusal opens a minute and is no strike; a ban that
        -- was lifted does not lengthen the next.
        FROM (SELECT CASE WHEN k.struck_at - excluded.struck_at BETWEEN 0 AND 1000000
                          THEN k.struck_at ELSE excluded.struck_at END AS now,
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
