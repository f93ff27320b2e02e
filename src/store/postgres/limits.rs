//! The request counts of several servers, in PostgreSQL.
//!
//! | File | Its job |
//! |---|---|
//! | `limiter` | requests that wait are counted in batches |
//! | `admission`, `count.sql` | the statement of a batch, and the decisions |
//! | `owner` | the store that a database counts for |

mod admission;
mod limiter;
pub(super) mod owner;

pub use admission::{Admission, remove_expired};
pub(super) use admission::{in_u32, timestamp};
pub use limiter::PostgresLimits;
