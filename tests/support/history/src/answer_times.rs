//! How long an answer may take, and how long a client waits for one.

use std::time::Duration;

/// A request is answered within this, whatever fails: the server's own 5 s, and the time to
/// say so.
pub const ANSWER_LIMIT: Duration = Duration::from_millis(5_500);

/// After this a client gives up: longer than any answer may take.
pub const GIVES_UP_AFTER: Duration = Duration::from_secs(6);
