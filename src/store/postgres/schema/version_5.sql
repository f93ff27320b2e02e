-- The schema of version 5. A change of the schema is a new file, never an edit of an older
-- one. Servers of version 1.1 do not see changes of accounts from now on.

-- The number of the change, in `changes`, that last changed the account. From now on that of a
-- key is the key's alone.
ALTER TABLE accounts ADD COLUMN changed_in bigint NOT NULL DEFAULT 1 CHECK (changed_in > 0);
ALTER TABLE accounts ALTER COLUMN changed_in DROP DEFAULT;
CREATE INDEX accounts_by_change ON accounts (changed_in);
