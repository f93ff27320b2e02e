-- The tables of the request counts, version 3. A change is a new file, never an edit of an older
-- one.

-- Each server counts strikes in its memory, and bans are in the store.
DROP TABLE limits_keys;
-- Its index goes with it.
ALTER TABLE limits_accounts DROP COLUMN bans_until;
CREATE INDEX limits_accounts_by_end ON limits_accounts (day_closes);
