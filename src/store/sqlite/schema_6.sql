-- The schema of version 6. A change of the schema is a new file, never an edit of an older
-- one.

-- The version of accounts and keys that last changed the account, so that a server reads the
-- accounts after the version it knows. From now on the version of a key is that of the key alone.
-- Accounts of an older schema changed at some version from 1 on.
ALTER TABLE accounts ADD COLUMN version INTEGER NOT NULL DEFAULT 1 CHECK (version > 0);
CREATE INDEX accounts_by_version ON accounts (version);
