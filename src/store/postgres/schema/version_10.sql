-- Schema version 10. Never edit this file to change the schema; add a new file.

-- A tenth of each new page stays free for new versions of its rows. Without room there, a
-- cancellation writes its row to another page, and writes two pages to the WAL instead of one.
ALTER TABLE orders SET (fillfactor = 90);
