-- The tables of the request counts, version 1. Never edit this file to change them; add a new file.
-- They are in the store's database, or in a separate one in the same cluster: then a long snapshot
-- of the store (a pg_dump) does not keep dead versions of these frequently updated rows. Times are
-- Unix time in microseconds, by the database's clock.

-- One row: the version of these tables, the oldest program that may use them, and the store whose
-- requests are counted, once a server has used them.
CREATE TABLE limits_schema (
    only_row       boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version        integer NOT NULL CHECK (version > 0),
    oldest_program text    NOT NULL,
    store_id       text
);

-- The minute and day windows of each account. per_minute, per_day and admitted are those of the
-- last batch: from them a server computes the counts before the batch. No ban of the account's keys
-- ends after bans_until, so most batches need not read the keys.
-- Every batch updates the rows of its accounts. Half-empty pages make room for HOT updates, and
-- vacuum starts at a fixed number of dead rows, however large the table is.
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

-- Strikes and the latest ban of each key with refused requests. The columns from struck_at to
-- limited describe the last batch: its time, the limit, the refused requests, and how many of them
-- came before the ban (-1 if the ban had begun earlier).
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
    -- A ban affects the length of the next ban for a day.
    forgotten_at bigint GENERATED ALWAYS AS (greatest(
        closes, CASE WHEN ban_seconds > 0 THEN banned_until + 86400000000 ELSE 0 END)) STORED
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX limits_keys_by_end ON limits_keys (forgotten_at);
