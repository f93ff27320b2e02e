-- Schema version 9. Never edit this file to change the schema; add a new file.

-- The request counts move to a separate database, which `migrate` creates or a setting names.
DROP TABLE limits_location;
DO $$
DECLARE
    counts text;
BEGIN
    FOREACH counts IN ARRAY ARRAY['limits_schema', 'limits_accounts', 'limits_keys'] LOOP
        -- The schema is named, so that no table of another schema in the search_path is dropped.
        EXECUTE format('DROP TABLE IF EXISTS %I.%I', current_schema(), counts);
    END LOOP;
END $$;
