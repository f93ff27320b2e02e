-- The schema of version 2. A change of the schema is a new file, never an edit of an older
-- one.

-- Identifies this store. A restored store gets another id. Ids of accounts and keys are only
-- unique within one store.
CREATE TABLE identity (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    store_id TEXT NOT NULL CHECK (length(store_id) = 32 AND store_id NOT GLOB '*[^0-9a-f]*')
) STRICT;
INSERT INTO identity VALUES (1, lower(hex(randomblob(16))));

-- When the operator last lifted a ban of the key, in Unix milliseconds; NULL if never. It never
-- decreases.
ALTER TABLE keys ADD COLUMN unbanned_at INTEGER;
