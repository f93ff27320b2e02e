-- The schema of version 9. A change of the schema is a new file, never an edit of an older
-- one.

-- The request counts have a database of their own: one that `migrate` creates, or that a setting
-- names.
DROP TABLE limits_location;
DO $$
DECLARE
    counts text;
BEGIN
    FOREACH counts IN ARRAY ARRAY['limits_schema', 'limits_accounts', 'limits_keys'] LOOP
        -- No table of that name in another schema of the search_path.
        EXECUTE format('DROP TABLE IF EXISTS %I.%I', current_schema(), counts);
    END LOOP;
END $$;
