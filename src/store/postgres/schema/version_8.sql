-- Schema version 8. Never edit this file to change the schema; add a new file.

-- The latest ban of the key: its end in Unix milliseconds, and its length, which the next ban
-- doubles. Both are NULL if the key was never banned, or the operator lifted the ban. ban_number
-- rises each time the key is banned or a ban is lifted.
ALTER TABLE keys ADD COLUMN banned_until bigint;
ALTER TABLE keys ADD COLUMN ban_seconds integer CHECK (ban_seconds > 0);
ALTER TABLE keys ADD COLUMN ban_number integer NOT NULL DEFAULT 0;
ALTER TABLE keys DROP COLUMN unbanned_at;
