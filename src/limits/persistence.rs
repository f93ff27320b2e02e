//! Carries windows, strikes and bans over a restart, in `limits.sqlite` in the data
//! directory: a file of its own, so that damage to it affects no order and no key.
//! No request waits for it.
//!
//! Its timestamps are in persistent monotonic time: it follows the monotonic clock
//! while a server runs, and over a restart the clock of the machine's boot, so that
//! setting the wall clock changes nothing. Over a reboot it advances by as much as
//! wall time did, never back: a wall clock set back makes nobody wait longer.

mod check;
mod database;
mod file;
mod persister;
mod quarantine;
mod report;
mod saved_clock;

pub use check::check;
pub use file::LimitsFile;
pub use persister::LimitsPersister;
pub use report::LimitsFileReport;
