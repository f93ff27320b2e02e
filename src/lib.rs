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
//! | [`damage_check`] | the check for a damaged store, in the background after the start |
//! | [`import`] | records from CSV, JSON and NDJSON |
//! | [`config`] | settings: flags, environment, file, defaults |
//! | [`store`] | the `Store` trait and its rows; SQLite and PostgreSQL behind it |
//! | [`metrics`] | counters and histograms |
//! | [`rate_limiter`] | rate limiting: windows, strikes, bans, and the file of the counts |
//! | [`api_key`] | the format of API keys, and their digests |
//! | [`log`] | JSON lines on standard error |
//! | [`counter`] | counters that can be registered as metrics later |
//! | `private_file` | mode and owner of files in a data directory |
//! | `blocking` | blocking work, with a limit for each kind |
//! | [`clock`] | clocks, which tests can set |
//!
//! # Stories
//!
//! The hard parts. Each is told once, in the module that owns it: the problem, the obvious solution
//! and what breaks it, the idea, and what is always true.
//!
//! | Story | File |
//! |---|---|
//! | How a list stays fresh | `orders.rs` |
//! | Leases, and why a replaced primary misleads nobody | `store/agreement/lease.rs` |
//! | The journal, and how a failover that lost changes is noticed | `store/agreement/journal.rs` |
//! | Group commit | `orders/writer.rs` |
//! | A cancellation whose answer to COMMIT is lost | `store/postgres/session/writer.rs` |
//! | The snapshot's pages and edits | `orders/snapshot.rs` |
//! | Why a revoked key works for at most a second | `key_cache.rs` |
//! | Windows, strikes and bans | `rate_limiter.rs` |
//! | Counting exactly with several servers | `store/postgres/rate_limiter.rs` |
//! | The generator: from document to contract | `xtask/codegen/src/lib.rs` |
//! | Why `cargo xtask check` is more than a comparison of two copies | `xtask/src/check.rs` |
//! | Which changes of a document break callers | `xtask/src/compatibility.rs` |
//!
//! # Where to look
//!
//! | Question | File |
//! |---|---|
//! | Which files does a request pass? | `http.rs` |
//! | How is a request refused with 401, 429 or 503? | `http/middleware.rs` |
//! | Which headers does every response have? | `http/request_scope.rs` |
//! | Where is an `ETag` made? | `orders/snapshot/tag.rs` |
//! | What is a page of the list in memory, and what is a page of version 2? | `orders/snapshot/page.rs`, `http/order_page.rs` |
//! | How does a list learn of changes? | `orders.rs`, `orders/refresh.rs` |
//! | What happens to a cancellation, even if the answer to its commit is lost? | `orders/writer.rs`, `store/postgres/session/writer.rs` |
//! | What happens in a failover? | `store/postgres/session.rs`, `store/agreement/lease.rs`, `store/agreement/journal.rs` |
//! | How soon is a revoked key refused? | `key_cache.rs` |
//! | Where are requests counted? | `rate_limiter/in_memory.rs`, `store/postgres/rate_limiter/count.sql` |
//! | Which columns does an order, an account or a key have? | `store/order_rows.rs`, `store/account_rows.rs` |
//! | What does a setting do? | `config/settings.rs` |
//!
//! # Words
//!
//! Each word has this meaning in code, SQL, commands and JSON. If it has a second one, the table
//! says where.
//!
//! | Word | Meaning |
//! |---|---|
//! | order | a number of units of one pet; cancellable while `pending`, no longer once `shipped` |
//! | account | a caller of the API: it has a plan, keys, and windows that all its keys share |
//! | key | authenticates an account in one environment; the store has only its digest |
//! | plan | the requests that an account may send per minute and per day |
//! | limit | a number of requests, of a plan or agreed with the account; the rate limiter enforces it |
//! | counts | the counted requests of all accounts: in memory and `limits.snapshot`, or in a database |
//! | window | a minute or day, opened by the first counted request after the previous one ended |
//! | strike | a 429 at least 2 s after the key's first 429 in a minute; strikes lead to a ban |
//! | ban | refuses a key for a time, after as many strikes as its account's limit per minute |
//! | batch | cancellations that are executed together; in the rate limiter, requests that are counted together |
//! | page | a part of the snapshot; in version 2, the orders that one response lists |
//! | snapshot | an immutable list of all orders at one position; in `store`, what a query sees |
//! | pending removals | cancelled orders that the snapshot still has |
//! | refresh | brings the snapshot, or the cached keys, up to date |
//! | change number | numbers the changes of orders, or of accounts and keys, in ascending order |
//! | history | changes whose numbers can be compared; a server begins a new one if changes may be lost |
//! | position | a history and a change number: which changes a list, a cache or the store has |
//! | freshness query | asks the store for its last changes, for the list requests that wait |
//! | answer | what the store replies; what the client gets is a response |
//! | check | the operator's command; `cargo xtask check` is the developer's |
//! | damage check | the check for a damaged store, in a server's background |
//! | server store, operator store | the store as a running server, or as the commands, use it |
//! | session | the connections to one PostgreSQL server, opened and closed together |
//! | heartbeat | a session's commit, four times a second; waits for the synchronous standby |
//! | lease | allows using a session's answers until 1 s after its last confirmed heartbeat was sent |
//! | server | a process that serves the API; in `store/postgres` also a server of PostgreSQL |
//! | replica | one of several servers that share a store in PostgreSQL |

#![deny(clippy::disallowed_methods)]

#[cfg(not(unix))]
compile_error!(
    "Store Orders runs on Linux and macOS only: it needs Unix signals and file permissions"
);

mod admin;
pub mod api_key;
mod blocking;
pub mod cli;
pub mod clock;
pub mod config;
mod context;
mod counter;
mod damage_check;
mod http;
mod import;
pub mod key_cache;
pub mod log;
pub mod metrics;
pub mod orders;
mod private_file;
pub mod rate_limiter;
pub mod server;
pub mod store;
