-- The schema of version 7. A change of the schema is a new file, never an edit of an older
-- one. Programs before version 1.2 wrote a long import first and made it a change afterwards.

-- An import under way ends first.
SELECT pg_advisory_xact_lock(x'73746f7200000002'::bigint);

-- What a command left that was killed in between becomes a change.
SELECT FROM versions FOR NO KEY UPDATE;
INSERT INTO changes (version, orders, keys)
    SELECT highest, highest, keys
    FROM (SELECT max(changed_in) FROM orders) AS found (highest),
         (SELECT version, keys FROM changes ORDER BY version DESC LIMIT 1) AS last
    WHERE highest > version;
