//! The one way to start the program, and to give it orders, keys and time.
//!
//! - [`Program`] is the built program and [`CliSandbox`] a directory to run it in;
//!   [`DataDir`] is filled with the operator's commands; [`ServerProcess`] serves.
//! - [`assert_text`] holds what a text says, `CliSandbox::session` what the commands of a session
//!   print, and [`Console`] is a session that a document shows.
//! - [`until_conclusive`] and [`Report`]: what was measured while the machine did not stand
//!   still.
//! - [`wait_blocking`] and [`wait_for`]: waits for what something else brings about. [`relay`]: a
//!   network that fails, falsifies or is read along.
//! - [`seed`]: where generated inputs begin.
//! - [`run_samples`]: the programs that the documents have for callers, against a server.
//! - [`postgres`]: database servers, and [`Authority`] certificates for them.
//!
//! Nothing here needs the library, so `xtask` runs while the server does not compile.
#![expect(clippy::new_without_default, reason = "`new` makes a directory, a key or a thread")]

mod attempts;
mod authority;
mod canary;
mod child_process;
mod cli_sandbox;
mod command_output;
mod data_dir;
mod exit_code;
mod free_address;
pub mod postgres;
mod preload;
mod program;
pub mod relay;
mod report;
mod samples;
mod seed;
mod server_process;
mod small_disk;
mod transcript;
mod wait;

pub use attempts::until_conclusive;
pub use authority::{Authority, Issued};
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
pub use seed::{property_config, seed};
pub use server_process::ServerProcess;
pub use small_disk::{Full, SmallDisk};
pub use snapbox::data::Inline;
pub use snapbox::str;
pub use transcript::{Console, assert_text, consoles};
pub use wait::{WAIT_TIMEOUT, wait_a_second_until, wait_blocking, wait_for, wait_until};
