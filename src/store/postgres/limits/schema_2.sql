-- The tables of the request counts, version 2. A change is a new file, never an edit of an older
-- one.

-- When the last batch counted the account: no later one counts it at an earlier time.
ALTER TABLE limits_accounts ADD COLUMN counted_at bigint NOT NULL DEFAULT 0;
