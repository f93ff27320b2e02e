-- The schema of version 6. A change of the schema is a new file, never an edit of an older
-- one.

-- Where requests are counted: one row, which `migrate` writes. Servers that counted in different
-- databases would admit a plan's requests once each. `database` is NULL for the store's own.
CREATE TABLE limits_location (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    database text CHECK (database <> '')
);
