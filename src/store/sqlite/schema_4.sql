-- The schema of version 4. A change of the schema is a new file, never an edit of an older
-- one.

-- The version of accounts and keys that last changed the key or its account, so that a server
-- reads the keys after the version it knows. Keys of an older schema changed at some version
-- from 1 on.
ALTER TABLE keys ADD COLUMN version INTEGER NOT NULL DEFAULT 1 CHECK (version > 0);
CREATE INDEX keys_by_version ON keys (version);
