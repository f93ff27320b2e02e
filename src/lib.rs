//! Store Orders: the server that implements the API of `store-orders-api`.
//!
//! A module imports only modules further down this list.
//!
//! | Module | Its job |
//! |---|---|
//! | [`cli`] | the command line: `serve`, and the operator's commands |
//! | [`server`] | assembles the parts, listens, drains, stops |
//! | [`admin`] | liveness, readiness and metrics, on their own listener |
//! | [`http`] | the HTTP layer between dropshot and the domain: middleware, handlers, pages |
//! | [`context`] | the state that request handlers share |
//! | [`orders`] | the order list as encoded pages, and the writer of cancellations |
//! | [`key_cache`] | a read-through cache of API keys, which follows the store |
//! | [`store_check`] | the check for a damaged store, in the background after the start |
//! | [`import`] | records from CSV, JSON and NDJSON |
//! | [`config`] | settings: flags, environment, file, defaults |
//! | [`store`] | the `Store` trait and its rows; SQLite and PostgreSQL behind it |
//! | [`metrics`] | counters and histograms |
//! | [`limits`] | rate limiting: windows, strikes, bans, and their persistence |
//! | [`keys`] | the format of API keys, and their digests |
//! | [`log`] | JSON lines on standard error |
//! | [`counter`] | counters that can be registered as metrics later |
//! | `private_file` | mode and owner of files in a data directory |
//! | `blocking` | blocking work, with a limit for each kind |
//! | [`clock`] | clocks, which tests can set |

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
