//! Starts the program for tests and tools, and simulates faults of disks, clocks and networks.
//!
//! - [`Program`] is the built program. [`CliSandbox`] is a directory to run it in, and [`DataDir`]
//!   is a data directory to fill with the operator's commands. [`ServerProcess`] is a running
//!   server.
//! - [`Console`] is a console session that a document shows. [`run_samples`] and
//!   [`run_curl_commands`] run the code samples and curl commands of the API's operations.
//! - [`relay`] forwards connections, and simulates faults of the network. [`Preload`] simulates
//!   faults of the disk and the clock. [`SmallDisk`] simulates a full disk.
//! - [`until_conclusive`] repeats a measurement if the machine stalled.
//!
//! Nothing here depends on the library, so `xtask` runs even while the server does not compile.
#![expect(clippy::new_without_default, reason = "`new` creates a directory, a key or a thread")]

mod attempts;
mod authority;
mod booted;
mod child_process;
mod cli_sandbox;
mod command_output;
mod data_dir;
mod exit_code;
mod free_address;
mod mounts;
mod nginx;
pub mod postgres;
mod preload;
mod program;
pub mod relay;
mod report;
mod samples;
mod seed;
mod server_process;
mod stall_detector;
mod transcript;
mod wait;

pub use attempts::until_conclusive;
pub use authority::{Authority, Issued};
pub use booted::Booted;
pub use child_process::{ChildProcess, Pid, Signal};
pub use cli_sandbox::CliSandbox;
pub use command_output::CommandOutput;
pub use data_dir::{DataDir, Key};
pub use exit_code::exit_code;
pub use free_address::free_address;
pub use mounts::{Full, MountedFile, SmallDisk};
pub use nginx::start_nginx;
pub use preload::Preload;
pub use program::Program;
pub use report::Report;
pub use samples::{run_curl_commands, run_samples};
pub use seed::{property_config, seed};
pub use server_process::ServerProcess;
pub use snapbox::data::Inline;
pub use snapbox::str;
pub use stall_detector::StallDetector;
pub use transcript::{Console, assert_text, consoles};
pub use wait::{WAIT_TIMEOUT, wait_a_second_until, wait_blocking, wait_for, wait_until};
