//! The checker's time limit for responses, and the timeout of the workload's clients.

use std::time::Duration;

/// Maximum time from a request to its response. The server may use 5 s, and the rest is for the
/// network. The checker adds the time of faults that affect the server.
pub const ANSWER_LIMIT: Duration = Duration::from_millis(5_500);

/// The time after which a client stops waiting for a response. It exceeds [`ANSWER_LIMIT`], so a
/// request that times out also exceeds that limit.
pub const GIVES_UP_AFTER: Duration = Duration::from_secs(6);
