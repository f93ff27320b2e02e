-- Schema version 4. Never edit this file to change the schema; add a new file.

-- The operator's name for the key, or NULL. Servers do not read it.
ALTER TABLE keys ADD COLUMN label text;
