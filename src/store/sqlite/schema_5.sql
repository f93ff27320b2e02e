-- The schema of version 5. A change of the schema is a new file, never an edit of an older
-- one.

-- What the operator calls the key; NULL if nothing.
ALTER TABLE keys ADD COLUMN label TEXT;
