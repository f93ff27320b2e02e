//! The limits: windows, strikes, bans, callers without a key, and what of it
//! survives a restart, and counts that cannot be reached.

mod agreement;
pub mod bans;
mod crash;
mod keyless;
mod limits_file;
mod model;
mod operator;
mod persistence;
mod plans;
pub mod unavailable;
mod windows;
