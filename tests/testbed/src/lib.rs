//! The one way to start the program, and to give it orders, keys and time.
//!
//! - [`Program`] is the built program and [`CliSandbox`] a directory to run it in;
//!   [`DataDir`] is filled with the operator's commands; [`ServerProcess`] serves.
//! - [`assert_text`] holds what a text says, `CliSandbox::session` what the commands of a session
//!   print, and [`Console`] is a session that a document shows.
//! - [`until_conclusive`] and [`Report`]: what was measured while the machine did not stand
//!   still.
//! - [`wait_blocking`] and `wait_for`: waits for what something else brings about. `Relay`: a
//!   network that fails, falsifies or is read along.
//! - [`seed`]: where generated inputs begin.
//! - [`run_samples`]: the programs that the documents have for callers, against a server.
//! - With the feature `in-process`: `TestSetup` and `TestServer` are a store, a
//!   clock and a server inside the test, and `Tap` holds what goes over the wire
//!   against the document.
//! - With the feature `postgres`: database servers and certificates for them.
//!
//! Without those features nothing here needs the library, so `xtask` runs while the
//! server does not compile.
#![expect(clippy::new_without_default, reason = "`new` makes a directory, a key or a thread")]

mod attempts;
mod canary;
mod child_process;
mod cli_sandbox;
mod command_output;
mod data_dir;
mod exit_code;
mod free_address;
mod preload;
mod program;
mod report;
mod samples;
mod seed;
mod server_process;
mod small_disk;
mod transcript;
mod wait;

pub use attempts::until_conclusive;
pub use canary::Canary;
pub use child_process::{ChildProcess, Pid, Signal};
pub use cli_sandbox::CliSandbox;
pub use command_output::CommandOutput;
pub use data_dir::{DataDir, Key};
pub use exit_code::exit_code;
pub use free_address::free_address;
pub use preload::Preload;
pub use program::Program;
pub use report::Report;
pub use samples::{SAMPLES, run_samples};
pub use seed::seed;
pub use server_process::ServerProcess;
pub use small_disk::{Full, SmallDisk};
pub use snapbox::data::Inline;
pub use snapbox::str;
pub use transcript::{Console, assert_text, consoles};
pub use wait::{WAIT_TIMEOUT, wait_blocking};

#[cfg(feature = "postgres")]
mod authority;
#[cfg(feature = "in-process")]
#[expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on says so by panicking"
)]
pub mod contract;
#[cfg(feature = "in-process")]
#[expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on says so by panicking"
)]
pub mod in_process;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(any(feature = "in-process", feature = "postgres"))]
pub mod relay;

#[cfg(feature = "postgres")]
pub use authority::{Authority, Issued};
#[cfg(feature = "in-process")]
pub use seed::property_config;
#[cfg(any(feature = "in-process", feature = "postgres"))]
pub use wait::wait_for;
#[cfg(feature = "in-process")]
pub use wait::{wait_a_second_until, wait_until};
