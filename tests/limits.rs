//! Rate limits: windows, strikes, bans, callers without a key, persistence over restarts, and
//! unavailable request counts.

mod agreement;
pub mod bans;
mod counts_file;
mod crash;
mod model;
mod operator;
mod plans;
mod unauthenticated;
pub mod unavailable;
mod windows;
