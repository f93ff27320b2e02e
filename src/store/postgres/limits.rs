//! The request counts of several servers, in PostgreSQL.
//!
//! | File | Its job |
//! |---|---|
//! | `limiter` | requests that wait are counted in batches |
//! | `admission`, `count.sql`, `strike.sql` | the statements of a batch, and the decisions |
//! | `location` | where requests are counted, as the store records it |
//! | `report` | what was counted, for the operator's commands |

mod admission;
mod limiter;
pub(super) mod location;
mod report;

pub use admission::{Admission, remove_expired};
pub use limiter::PostgresLimits;
pub use report::PostgresLimitsReport;
