//! The decisions of the real server, compiled from its source files.

#[path = "../../../../src/store/agreement/journal.rs"]
pub mod journal;
#[path = "../../../../src/store/agreement/key_cache.rs"]
pub mod key_cache;
#[path = "../../../../src/store/agreement/lease.rs"]
pub mod lease;
#[path = "../../../../src/store/agreement/list.rs"]
pub mod list;
#[path = "../../../../src/store/agreement/position.rs"]
pub mod position;
#[path = "../../../../src/store/agreement/reading.rs"]
pub mod reading;
#[path = "../../../../src/store/agreement/shared_queries.rs"]
pub mod shared_queries;
