-- All times are in nanoseconds; those of accounts and keys are in persistent
-- monotonic time, which begins as Unix time and then follows the monotonic clock.

-- Both times at the last write; `counting` is the persistent monotonic time.
CREATE TABLE clock (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    counting INTEGER NOT NULL,
    wall     INTEGER NOT NULL
) STRICT;

CREATE TABLE accounts (
    account         INTEGER PRIMARY KEY,
    minute_closes   INTEGER NOT NULL,
    minute_requests INTEGER NOT NULL CHECK (minute_requests BETWEEN 0 AND 4294967295),
    day_closes      INTEGER NOT NULL,
    day_requests    INTEGER NOT NULL CHECK (day_requests BETWEEN 0 AND 4294967295)
) STRICT;

CREATE TABLE keys (
    key            INTEGER PRIMARY KEY,
    strikes_close  INTEGER NOT NULL,
    strikes        INTEGER NOT NULL CHECK (strikes BETWEEN 0 AND 4294967295),
    ban_seconds    INTEGER NOT NULL CHECK (ban_seconds BETWEEN 0 AND 4294967295),
    banned_until   INTEGER NOT NULL
) STRICT;
