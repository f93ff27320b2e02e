//! Sends snapshots, and bounds what slow readers hold in memory.

mod body;
mod readers;
mod response;

pub use readers::Readers;
pub use response::{list_response, part_response};
