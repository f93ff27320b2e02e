//! The decisions by which several servers share one store without contradicting each other.
//!
//! The decisions are pure functions. Time and the database's answers are parameters. The files use
//! only `std`, because `tests/support/protocol` compiles them without the server. That package
//! model-checks the decisions in sequences of bounded length.
//!
//! | File | Its decision |
//! |---|---|
//! | `lease` | until when answers of a primary are valid; when a session may acknowledge changes |
//! | `journal` | whether a primary has a different history |
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
