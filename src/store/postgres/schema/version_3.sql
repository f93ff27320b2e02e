-- Schema version 3. Never edit this file to change the schema; add a new file. Programs of version
-- 1.0 do not write the journal, and fail because their columns are renamed or removed.

-- Waits until a running import ends: imports hold this lock only against each other.
SELECT pg_advisory_xact_lock(x'73746f7200000002'::bigint);

-- changed_in is the number, in `changes`, of the last change of the row; for a key, also of its
-- account.
ALTER TABLE orders RENAME COLUMN version TO changed_in;
ALTER INDEX orders_by_version RENAME TO orders_by_change;
ALTER TABLE keys ADD COLUMN changed_in bigint NOT NULL DEFAULT 1 CHECK (changed_in > 0);
ALTER TABLE keys ALTER COLUMN changed_in DROP DEFAULT;
CREATE INDEX keys_by_change ON keys (changed_in);

-- The journal: a row for each committed change of orders, accounts or keys, written in the same
-- transaction under the lock of `versions`, so that numbers are committed in ascending order.
-- `orders` and `keys` are the last change of orders and of accounts and keys. A server whose last
-- seen change is missing here, or has another id, has seen another history, and rereads
-- everything. Old rows are removed, except the last one.
CREATE TABLE changes (
    version bigint      PRIMARY KEY CHECK (version > 0),
    id      uuid        NOT NULL DEFAULT gen_random_uuid(),
    orders  bigint      NOT NULL CHECK (orders BETWEEN 0 AND version),
    keys    bigint      NOT NULL CHECK (keys BETWEEN 0 AND version),
    made_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO changes (version, orders, keys)
    SELECT greatest(in_orders, in_keys, 1), in_orders, in_keys
    FROM (SELECT (SELECT coalesce(max(changed_in), 0) FROM orders), version
          FROM keys_version) AS found (in_orders, in_keys);
DROP TABLE keys_version;
