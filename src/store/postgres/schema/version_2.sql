-- The schema of version 2. A change of the schema is a new file, never an edit of an older
-- one.

-- RFC 3339 in UTC with Z; NULL while the account is open. A closed account has no valid key
-- and gets none. A server of an older program refuses revoked keys too, so it needs none of
-- this.
ALTER TABLE accounts ADD COLUMN closed_at text;
