-- Schema version 2. Never edit this file to change the schema; add a new file.

-- RFC 3339 in UTC with Z; NULL while the account is open. A closed account has no valid keys and
-- cannot get new ones. Programs of this version also revoke its keys when they close it, so older
-- servers need not read this column.
ALTER TABLE accounts ADD COLUMN closed_at text;
