-- The schema of version 4. A change of the schema is a new file, never an edit of an older
-- one.

-- What the operator calls the key; NULL if nothing. Servers do not read it.
ALTER TABLE keys ADD COLUMN label text;
