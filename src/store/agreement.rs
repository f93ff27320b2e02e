//! What the servers of one store decide so that together they keep its promises. Nothing here
//! waits, sends or reads a clock: time, and what the database answered, are parameters. The server
//! calls these functions, and `tests/protocol` searches sequences of the same ones, within bounds,
//! so they need nothing but `std`.
//!
//! | File | What it decides |
//! |---|---|
//! | `lease` | until when an answer of a primary counts, and from when a session may acknowledge |
//! | `journal` | whose history a primary goes on with |
//! | `questions` | which question for the last changes a list waits for |
//! | `list` | how a list in memory catches up with the store |
//! | `reading` | which rows are read, and how far a read in pages came |
//! | `keys` | what the known keys lack, and as of when they are known |
//! | `change_numbers` | change numbers, and which of two reflects more |

pub mod change_numbers;
pub mod journal;
pub mod keys;
pub mod lease;
pub mod list;
pub mod questions;
pub mod reading;
