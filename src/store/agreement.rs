//! What the servers of one store decide so that together they keep its promises. Nothing here
//! waits, sends or reads a clock: time, and what the database answered, are parameters. The server
//! calls these functions, and `tests/support/protocol` searches sequences of the same ones, within bounds,
//! so they need nothing but `std`.
//!
//! | File | What it decides |
//! |---|---|
//! | `lease` | the time until which an answer of a primary counts, and from which a session may acknowledge |
//! | `journal` | if a primary has a different history |
//! | `questions` | the question for the last changes that a list waits for |
//! | `list` | how a list in memory catches up with the store |
//! | `reading` | the rows to read, and the change that a read in pages has reached |
//! | `keys` | how the cached keys follow the store, and until when a key counts |
//! | `change_numbers` | change numbers, and which of two reflects more |

pub mod change_numbers;
pub mod journal;
pub mod keys;
pub mod lease;
pub mod list;
pub mod questions;
pub mod reading;
