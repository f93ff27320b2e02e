-- The schema of version 2. A change of the schema is a new file, never an edit of an older
-- one.

-- Tells this store from every other one, also from the one it was restored from. Ids of
-- accounts and keys mean something only together with it.
CREATE TABLE identity (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    store_id TEXT NOT NULL CHECK (length(store_id) = 32 AND store_id NOT GLOB '*[^0-9a-f]*')
) STRICT;
INSERT INTO identity VALUES (1, lower(hex(randomblob(16))));

-- Unix milliseconds; NULL if the operator never lifted a ban of the key. It only rises.
ALTER TABLE keys ADD COLUMN unbanned_at INTEGER;
