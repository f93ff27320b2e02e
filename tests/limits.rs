//! Rate limits: windows, strikes, bans, callers without a key, persistence over restarts, and
//! unavailable request counts.

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
