-- The tables of a store, version 1. Never edit this file; add a migration to the next version
-- instead.

-- Identifies this store. A restored store gets another id. Ids of accounts and keys are unique only
-- within one store.
CREATE TABLE identity (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    store_id TEXT NOT NULL CHECK (length(store_id) = 32 AND store_id NOT GLOB '*[^0-9a-f]*')
) STRICT;
INSERT INTO identity VALUES (1, lower(hex(randomblob(16))));

-- The number of the last change of orders, and the number of the last change of accounts or keys. A
-- change also writes its number to `change_number` of each changed row. A server catches up by
-- reading the rows with numbers above the server's position.
CREATE TABLE last_changes (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    orders   INTEGER NOT NULL,
    keys     INTEGER NOT NULL
) STRICT;
INSERT INTO last_changes VALUES (1, 0, 0);

-- Cancelled orders stay, so their ids are never reused. Dates in this table are RFC 3339 in UTC
-- with Z.
CREATE TABLE orders (
    id            INTEGER PRIMARY KEY,
    pet_id        INTEGER NOT NULL,
    quantity      INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 2147483647),
    ship_date     TEXT CHECK (ship_date LIKE '____-__-__T__:__:__%Z'),
    complete      INTEGER NOT NULL CHECK (complete IN (0, 1)),
    status        TEXT NOT NULL CHECK (status IN ('pending', 'shipped', 'cancelled')),
    change_number INTEGER NOT NULL CHECK (change_number > 0),
    cancelled_at  TEXT,
    cancelled_by  TEXT,
    CHECK ((status = 'cancelled') = (cancelled_at IS NOT NULL)),
    CHECK ((status = 'cancelled') = (cancelled_by IS NOT NULL))
) STRICT;
CREATE INDEX orders_by_change ON orders (change_number);

CREATE TABLE pets (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL
) STRICT;

-- Dates have the same format as in the table orders. closed_at is NULL while the account is open. A
-- closed account has no valid key and gets no new key.
CREATE TABLE accounts (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    name          TEXT NOT NULL UNIQUE CHECK (name <> ''),
    plan          TEXT NOT NULL CHECK (plan IN ('free', 'pro', 'business', 'enterprise')),
    per_minute    INTEGER CHECK (per_minute BETWEEN 0 AND 4294967295),
    per_day       INTEGER CHECK (per_day BETWEEN 0 AND 4294967295),
    created_at    TEXT NOT NULL,
    closed_at     TEXT,
    change_number INTEGER NOT NULL CHECK (change_number > 0),
    -- Enterprise accounts have individual limits; other accounts have those of their plan.
    CHECK ((plan = 'enterprise') = (per_minute IS NOT NULL)),
    CHECK ((plan = 'enterprise') = (per_day IS NOT NULL))
) STRICT;
CREATE INDEX accounts_by_change ON accounts (change_number);

-- digest is the SHA-256 of the whole key; the key itself is not stored. label is a name that the
-- operator gave the key. Times are Unix milliseconds.
--
-- banned_until and ban_seconds describe the latest ban. The length of the next ban depends on both.
-- Both are NULL if the key was never banned or the operator lifted the ban. Each ban and each
-- lifting increments ban_number.
--
-- A change of the account alone does not change change_number of the account's keys.
CREATE TABLE keys (
    row           INTEGER PRIMARY KEY AUTOINCREMENT,
    id            TEXT NOT NULL UNIQUE CHECK (id LIKE 'key\_%' ESCAPE '\'),
    account       INTEGER NOT NULL REFERENCES accounts (id),
    environment   TEXT NOT NULL CHECK (environment IN ('production', 'staging')),
    digest        BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
    label         TEXT,
    issued_at     INTEGER NOT NULL,
    expires_at    INTEGER,
    revoked_at    INTEGER,
    used_at       INTEGER,
    successor     TEXT REFERENCES keys (id),
    banned_until  INTEGER,
    ban_seconds   INTEGER CHECK (ban_seconds > 0),
    ban_number    INTEGER NOT NULL DEFAULT 0,
    change_number INTEGER NOT NULL CHECK (change_number > 0)
) STRICT;
CREATE INDEX keys_by_account ON keys (account);
CREATE INDEX keys_by_change ON keys (change_number);
