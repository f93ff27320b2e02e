//! Time limits of an answer and of a waiting client.

use std::time::Duration;

/// Maximum time of any answer, even during faults: the 5 s that the server allows itself, and the
/// time to deliver the answer.
pub const ANSWER_LIMIT: Duration = Duration::from_millis(5_500);

/// Time after which a client gives up: longer than any answer may take.
pub const GIVES_UP_AFTER: Duration = Duration::from_secs(6);
