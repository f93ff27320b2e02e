//! Counts the requests of several servers in PostgreSQL.
//!
//! | File | Its job |
//! |---|---|
//! | `limiter` | collects waiting requests into batches, and answers them |
//! | `admission`, `count.sql` | counts a batch in one statement, and decides on its requests |
//! | `owner` | checks that a database counts for this store |

mod admission;
mod limiter;
pub(super) mod owner;

pub use admission::{Admission, remove_expired};
pub(super) use admission::{in_u32, timestamp};
pub use limiter::PostgresRateLimiter;
