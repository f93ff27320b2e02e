//! The time within which a server must answer, and the time after which a client gives up.

use std::time::Duration;

/// Maximum time from a request to its answer. A server allows itself 5 s; the rest is for the
/// network. The checker adds the duration of faults that stop the server or disturb its network to
/// the clients.
pub const ANSWER_LIMIT: Duration = Duration::from_millis(5_500);

/// How long a client waits for an answer before it gives up. This is longer than [`ANSWER_LIMIT`],
/// so a request on which the client gave up has also exceeded that limit.
pub const GIVES_UP_AFTER: Duration = Duration::from_secs(6);
