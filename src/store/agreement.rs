//! The decisions by which several servers share one store without contradicting each other.
//!
//! The decisions are pure functions. Time and the database's answers are parameters. The files use
//! only `std`, because `tests/support/protocol` compiles them without the server. That package
//! model-checks the decisions in sequences of bounded length.
//!
//! | File | Its decision |
//! |---|---|
//! | `lease` | until when a server may use a primary's answers; when a new session may cancel and list |
//! | `journal` | whether a primary lacks changes that this process has seen |
//! | `shared_queries` | which query for the last changes a list request uses |
//! | `list` | how a list in memory catches up with the store |
//! | `reading` | which rows to read, and which change a read in pages has reached |
//! | `key_cache` | how cached keys follow the store, and until when they are valid |
//! | `position` | whether one position lacks changes of another; a list's position after a batch |

pub mod journal;
pub mod key_cache;
pub mod lease;
pub mod list;
pub mod position;
pub mod reading;
pub mod shared_queries;
