-- The tables of the request counts, version 2. Never edit this file to change them; add a new file.

-- The time of the account's last batch: a later batch never counts at an earlier time.
ALTER TABLE limits_accounts ADD COLUMN counted_at bigint NOT NULL DEFAULT 0;
