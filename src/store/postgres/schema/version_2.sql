-- Schema version 2. Never edit this file to change the schema; add a new file.

-- RFC 3339 in UTC with Z; NULL while the account is open. A closed account has no valid keys and
-- cannot get new ones. Older servers need not read this column: closing also revokes the keys.
ALTER TABLE accounts ADD COLUMN closed_at text;
