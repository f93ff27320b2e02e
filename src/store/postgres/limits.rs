//! The request counts of several servers, in PostgreSQL: the statements that count, and where the
//! counts are.
//!
//! | File | Its job |
//! |---|---|
//! | `admission`, `count.sql`, `strike.sql` | the statements of a batch, and the decisions |
//! | `location` | where requests are counted, as the store records it |

pub(super) mod admission;
pub(super) mod location;

pub use admission::{Admission, remove_expired};
pub(super) use admission::{SELECT_BANS, bans, in_u32, timestamp};
