-- The schema of version 5. A change of the schema is a new file, never an edit of an older
-- one.

-- The operator's name for the key, or NULL.
ALTER TABLE keys ADD COLUMN label TEXT;
