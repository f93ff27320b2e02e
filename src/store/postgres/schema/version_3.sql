-- The schema of version 3. A change of the schema is a new file, never an edit of an older
-- one. Programs of version 1.0 write no journal: what they write orders and keys by is gone.

-- An import under way ends first: it holds up nobody but the next one.
SELECT pg_advisory_xact_lock(x'73746f7200000002'::bigint);

-- The number of the change, in `changes`, that last changed the row; of a key, also of its
-- account.
ALTER TABLE orders RENAME COLUMN version TO changed_in;
ALTER INDEX orders_by_version RENAME TO orders_by_change;
ALTER TABLE keys ADD COLUMN changed_in bigint NOT NULL DEFAULT 1 CHECK (changed_in > 0);
ALTER TABLE keys ALTER COLUMN changed_in DROP DEFAULT;
CREATE INDEX keys_by_change ON keys (changed_in);

-- The journal: a row for each committed change of orders, accounts or keys, written in its
-- transaction under the lock of `versions`, so that numbers are committed in their order. `orders`
-- and `keys` are the last change of each half. A server whose last change is not here with the
-- same id was at another history, and reads everything again. Old rows are removed; the last
-- one never.
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
