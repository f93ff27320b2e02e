//! Store Orders: the server that keeps the contract of `store-orders-api`.
//!
//! The modules, from the command line down to the ground. Imports go down this
//! list, never up.
//!
//! | Module | Its job |
//! |---|---|
//! | [`cli`] | the command line: `serve`, and the operator's commands |
//! | [`server`] | assembles the parts, listens, drains, stops |
//! | [`admin`] | liveness, readiness and metrics, on a listener of their own |
//! | [`http`] | everything between dropshot and the domain: middleware, handlers, pages |
//! | [`context`] | what a request can reach |
//! | [`orders`] | the list as encoded pages, and the writer of cancellations |
//! | [`key_cache`] | the keys in use, read through from the store and kept current |
//! | [`store_check`] | whether the store is damaged, found out after the start |
//! | [`import`] | records from CSV, JSON and NDJSON |
//! | [`config`] | settings: flags, environment, file, defaults |
//! | [`store`] | the `Store` trait and its rows; SQLite and PostgreSQL behind it |
//! | [`metrics`] | what is counted |
//! | [`limits`] | windows, strikes, bans, and their persistence |
//! | [`keys`] | the form of API keys, and their digests |
//! | [`log`] | JSON lines on standard error |
//! | [`counter`] | counters that exist before the registry of metrics |
//! | `private_file` | the mode and owner of files in a data directory |
//! | `blocking` | blocking work, each kind bounded |
//! | [`clock`] | time, which tests move |

#![deny(clippy::disallowed_methods)]

#[cfg(not(unix))]
compile_error!(
    "Store Orders runs on Linux and macOS only: it needs Unix signals and file permissions"
);

pub mod admin;
mod blocking;
pub mod cli;
pub mod clock;
pub mod config;
pub mod context;
pub mod counter;
pub mod http;
pub mod import;
pub mod key_cache;
pub mod keys;
pub mod limits;
pub mod log;
pub mod metrics;
pub mod orders;
mod private_file;
pub mod server;
pub mod store;
pub mod store_check;
