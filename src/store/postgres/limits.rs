//! The request counts of several servers, in PostgreSQL.
//!
//! | File | Its job |
//! |---|---|
//! | `limiter` | requests that wait are counted in batches |
//! | `admission`, `count.sql` | the statement of a batch, and the decisions |
//! | `location` | where requests are counted, as the store records it |

mod admission;
mod limiter;
pub(super) mod location;

pub use admission::{Admission, remove_expired};
pub(super) use admission::{in_u32, timestamp};
pub use limiter::PostgresLimits;
