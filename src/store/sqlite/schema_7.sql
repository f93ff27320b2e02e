-- The schema of version 7. A change of the schema is a new file, never an edit of an older
-- one.

-- The latest ban of the key: its end in Unix milliseconds, and its length, which the next ban
-- doubles. Both are NULL if the key was never banned or the operator lifted the ban. Each ban and
-- each lifting increments the number.
ALTER TABLE keys ADD COLUMN banned_until INTEGER;
ALTER TABLE keys ADD COLUMN ban_seconds INTEGER CHECK (ban_seconds > 0);
ALTER TABLE keys ADD COLUMN ban_number INTEGER NOT NULL DEFAULT 0;
ALTER TABLE keys DROP COLUMN unbanned_at;
