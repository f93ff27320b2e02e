//! The time within which a server must answer, and the time after which a client gives up.

use std::time::Duration;

/// Maximum time from a request to its response. The server itself may use 5 s, and the rest is for
/// the network. If a fault stops the server or disturbs its connections to clients, the checker
/// adds the duration of the fault.
pub const ANSWER_LIMIT: Duration = Duration::from_millis(5_500);

/// How long a client waits for an answer before it gives up. This is longer than [`ANSWER_LIMIT`],
/// so a request on which the client gave up has also exceeded that limit.
pub const GIVES_UP_AFTER: Duration = Duration::from_secs(6);
