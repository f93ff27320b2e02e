-- Schema version 5. Never edit this file to change the schema; add a new file. Servers of version
-- 1.1 do not see changes of accounts from now on.

-- The number, in `changes`, of the last change of the account. From now on changes of an account no
-- longer change keys.changed_in.
ALTER TABLE accounts ADD COLUMN changed_in bigint NOT NULL DEFAULT 1 CHECK (changed_in > 0);
ALTER TABLE accounts ALTER COLUMN changed_in DROP DEFAULT;
CREATE INDEX accounts_by_change ON accounts (changed_in);
