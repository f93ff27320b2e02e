-- The tables of the request counts, version 1. Never edit this file. To change the tables, add a
-- file with a migration to the next version. Times are microseconds since the Unix epoch, by the
-- database's clock.
--
-- The tables have their own database in the store's cluster, because their rows are updated often.
-- A long snapshot of the same database (pg_dump) would keep the old versions of these rows.

-- The table has one row. oldest_program is the lowest version of the program that may use these
-- tables. store_id identifies the store whose requests are counted, and is NULL until a server has
-- used the tables.
CREATE TABLE limits_schema (
    only_row       boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version        integer NOT NULL CHECK (version > 0),
    oldest_program text    NOT NULL,
    store_id       text
);

-- The minute and day windows of each account. counted_at and admitted describe the account's last
-- batch. per_minute and per_day exist only so that count.sql can read the limits from EXCLUDED.
--
-- Pages are filled to only 30 %, because a HOT update needs room in the row's page. Vacuum starts
-- at a fixed number of dead rows, even if the table is large.
CREATE TABLE limits_accounts (
    account         bigint PRIMARY KEY,
    minute_closes   bigint NOT NULL,
    minute_requests bigint NOT NULL,
    day_closes      bigint NOT NULL,
    day_requests    bigint NOT NULL,
    counted_at      bigint NOT NULL,
    admitted        bigint NOT NULL,
    per_minute      bigint NOT NULL,
    per_day         bigint NOT NULL
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX limits_accounts_by_end ON limits_accounts (day_closes);
