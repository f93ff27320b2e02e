//! Sends snapshots, and bounds what slow readers hold in memory.

mod body;
mod payload;
mod readers;

pub use payload::{Payload, PayloadBody};
pub use readers::Readers;
