//! The time limit of an answer, and the time after which a client gives up.

use std::time::Duration;

/// Maximum time until any answer arrives, even during faults: the 5 s that the server allows
/// itself, and the time to deliver the answer.
pub const ANSWER_LIMIT: Duration = Duration::from_millis(5_500);

/// The time for which a client waits for an answer, longer than any answer may take.
pub const GIVES_UP_AFTER: Duration = Duration::from_secs(6);
