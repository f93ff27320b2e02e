-- The tables of the request counts, version 3. Never edit this file to change them; add a new file.

-- Servers now count strikes in memory, and bans are in the store.
DROP TABLE limits_keys;
-- This also drops the index that uses the column.
ALTER TABLE limits_accounts DROP COLUMN bans_until;
CREATE INDEX limits_accounts_by_end ON limits_accounts (day_closes);
