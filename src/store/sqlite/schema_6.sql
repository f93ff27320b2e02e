-- The schema of version 6. A change of the schema is a new file, never an edit of an older
-- one.

-- The version of accounts and keys at which the account last changed. Servers read the accounts
-- with a higher version than the last one they have read. From this schema on, a change of an
-- account no longer changes the version of its keys. Accounts from older schemas get 1.
ALTER TABLE accounts ADD COLUMN version INTEGER NOT NULL DEFAULT 1 CHECK (version > 0);
CREATE INDEX accounts_by_version ON accounts (version);
