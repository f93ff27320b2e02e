-- The schema of version 2. A change of the schema is a new file, never an edit of an older
-- one.

-- The boot's id at the last write, and the time since the boot; NULL if unknown.
ALTER TABLE clock ADD COLUMN boot TEXT;
ALTER TABLE clock ADD COLUMN since_boot INTEGER;

-- The key's unbanned_at in the store when the latest ban began; 0 for none.
ALTER TABLE keys ADD COLUMN unbanned_at INTEGER NOT NULL DEFAULT 0;

-- The id of the store whose requests are counted.
CREATE TABLE store (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    id       TEXT NOT NULL
) STRICT;
