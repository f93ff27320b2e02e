-- Schema version 7. Never edit this file to change the schema; add a new file. Before version 1.2
-- an import first wrote its rows, and recorded them in the journal afterwards.

-- Waits until a running import ends.
SELECT pg_advisory_xact_lock(x'73746f7200000002'::bigint);

-- Records the rows of an import that was killed in between.
SELECT FROM versions FOR NO KEY UPDATE;
INSERT INTO changes (version, orders, keys)
    SELECT highest, highest, keys
    FROM (SELECT max(changed_in) FROM orders) AS found (highest),
         (SELECT version, keys FROM changes ORDER BY version DESC LIMIT 1) AS last
    WHERE highest > version;
