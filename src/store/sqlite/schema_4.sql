-- The schema of version 4. A change of the schema is a new file, never an edit of an older
-- one.

-- The version of accounts and keys at which the key or its account last changed. Servers read the
-- keys with a higher version than the last one they have read. Keys from older schemas get 1.
ALTER TABLE keys ADD COLUMN version INTEGER NOT NULL DEFAULT 1 CHECK (version > 0);
CREATE INDEX keys_by_version ON keys (version);
