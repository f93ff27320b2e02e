//! The time limit of an answer, and the time after which a client gives up.

use std::time::Duration;

/// Maximum time until an answer arrives: the 5 s that the server allows itself, and the time to
/// deliver the answer. If a fault stops the server or disturbs its network to the clients, the
/// checker adds the time of the fault.
pub const ANSWER_LIMIT: Duration = Duration::from_millis(5_500);

/// The time for which a client waits for an answer. It is longer than [`ANSWER_LIMIT`], so a client
/// gives up only after this limit is exceeded.
pub const GIVES_UP_AFTER: Duration = Duration::from_secs(6);
