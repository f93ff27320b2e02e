-- The tables of the request counts, version 1. A change is a new file, never an edit of this
-- one. They are in the store's database, or in one of their own in the same cluster: then a
-- long snapshot of the store (a pg_dump) does not keep old versions of these hot rows alive.
-- Times are microseconds of Unix time by the database's clock.

-- The version of these tables, the oldest program that may use them, and the store that is
-- counted, once a server has used them: one row.
CREATE TABLE limits_schema (
    only_row       boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version        integer NOT NULL CHECK (version > 0),
    oldest_program text    NOT NULL,
    store_id       text
);

-- Both windows of an account. The limits and the number that was admitted are of the last batch:
-- by that a server knows the counts before. No key of the account is banned after bans_until, so
-- that most batches do not look at the keys.
-- Every batch updates the rows of its accounts: half-empty pages let it replace a row in its
-- page (HOT), and vacuum is due by the number of dead rows, however large the table is.
CREATE TABLE limits_accounts (
    account         bigint PRIMARY KEY,
    minute_closes   bigint NOT NULL,
    minute_requests bigint NOT NULL,
    day_closes      bigint NOT NULL,
    day_requests    bigint NOT NULL,
    per_minute      bigint NOT NULL,
    per_day         bigint NOT NULL,
    admitted        bigint NOT NULL,
    bans_until      bigint NOT NULL
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX limits_accounts_by_end ON limits_accounts (greatest(day_closes, bans_until));

-- Strikes and the latest ban of a key that was refused. From struck_at to limited the columns are
-- of the last batch: when it was, the limit, the refusals, and how many of them came before the ban
-- (-1 if it had begun before).
CREATE TABLE limits_keys (
    key          bigint  PRIMARY KEY,
    account      bigint  NOT NULL,
    closes       bigint  NOT NULL,
    strikes      bigint  NOT NULL,
    ban_seconds  integer NOT NULL,
    banned_until bigint  NOT NULL,
    unbanned_at  bigint  NOT NULL,
    struck_at    bigint  NOT NULL,
    per_minute   bigint  NOT NULL,
    refused      bigint  NOT NULL,
    limited      bigint  NOT NULL,
    -- A ban counts for the length of the next one for a day.
    forgotten_at bigint GENERATED ALWAYS AS (greatest(
        closes, CASE WHEN ban_seconds > 0 THEN banned_until + 86400000000 ELSE 0 END)) STORED
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX limits_keys_by_end ON limits_keys (forgotten_at);
