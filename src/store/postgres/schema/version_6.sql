-- Schema version 6. Never edit this file to change the schema; add a new file.

-- The database of the request counts: one row, written by `migrate`. If servers counted in
-- different databases, each would admit all requests of a plan. `database` is NULL if requests are
-- counted in the store's database.
CREATE TABLE limits_location (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    database text CHECK (database <> '')
);
