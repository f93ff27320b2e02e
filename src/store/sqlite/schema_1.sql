-- The schema of version 1. A change of the schema is a new file, never an edit of this one.

-- The numbers of the last change of orders, and of accounts and keys. Every change increments
-- one of them in the same transaction. A server catches up by reading the rows with a higher
-- version than the last one it has read.
CREATE TABLE versions (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    orders   INTEGER NOT NULL,
    keys     INTEGER NOT NULL
) STRICT;
INSERT INTO versions VALUES (1, 0, 0);

-- All orders ever. Cancelled orders stay, so that their ids are never reused. ship_date is in the
-- wire format: RFC 3339 in UTC with Z.
CREATE TABLE orders (
    id           INTEGER PRIMARY KEY,
    pet_id       INTEGER NOT NULL,
    quantity     INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 2147483647),
    ship_date    TEXT CHECK (ship_date LIKE '____-__-__T__:__:__%Z'),
    complete     INTEGER NOT NULL CHECK (complete IN (0, 1)),
    status       TEXT NOT NULL CHECK (status IN ('pending', 'shipped', 'cancelled')),
    version      INTEGER NOT NULL CHECK (version > 0),
    cancelled_at TEXT,
    cancelled_by TEXT,
    CHECK ((status = 'cancelled') = (cancelled_at IS NOT NULL)),
    CHECK ((status = 'cancelled') = (cancelled_by IS NOT NULL))
) STRICT;
CREATE INDEX orders_by_version ON orders (version);

CREATE TABLE pets (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL
) STRICT;

CREATE TABLE accounts (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL UNIQUE CHECK (name <> ''),
    plan       TEXT NOT NULL CHECK (plan IN ('free', 'pro', 'business', 'enterprise')),
    per_minute INTEGER CHECK (per_minute BETWEEN 0 AND 4294967295),
    per_day    INTEGER CHECK (per_day BETWEEN 0 AND 4294967295),
    created_at TEXT NOT NULL,
    -- Limits of its own are Enterprise's, and Enterprise has no others.
    CHECK ((plan = 'enterprise') = (per_minute IS NOT NULL)),
    CHECK ((plan = 'enterprise') = (per_day IS NOT NULL))
) STRICT;

-- digest is the SHA-256 of the whole key; the key itself is not stored. Times that the server
-- compares are Unix milliseconds.
CREATE TABLE keys (
    row         INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT NOT NULL UNIQUE CHECK (id LIKE 'key\_%' ESCAPE '\'),
    account     INTEGER NOT NULL REFERENCES accounts (id),
    environment TEXT NOT NULL CHECK (environment IN ('production', 'staging')),
    digest      BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
    issued_at   INTEGER NOT NULL,
    expires_at  INTEGER,
    revoked_at  INTEGER,
    used_at     INTEGER,
    successor   TEXT REFERENCES keys (id)
) STRICT;
CREATE INDEX keys_by_account ON keys (account);
