//! The request counts of several servers, in PostgreSQL: what a session prepares and commands read.
//!
//! | File | Its job |
//! |---|---|
//! | `admission`, `count.sql`, `strike.sql` | the statements of a batch, and the decisions |
//! | `location` | where requests are counted, as the store records it |
//! | `report` | what was counted, for the operator's commands |

pub(super) mod admission;
pub(super) mod location;
mod report;

pub use admission::{Admission, remove_expired};
pub use report::PostgresLimitsReport;
