//! A model of the protocol by which replicas agree through PostgreSQL, and searches that check the
//! model. The model is bounded. It has three hosts and two replicas, one of which only cancels. It
//! has one order to cancel or one key to revoke, and at most three changes.
//!
//! Each search in `tests.rs` explores every sequence of steps within its scope. Scopes with
//! failovers have at most two changes, and only one change if they also have restores. No scope has
//! both failovers and reads in pages.
//!
//! A replica in the model makes its decisions with the server's own source, `src/store/agreement`.
//! This package adds the hosts, the steps and the promises. A promise is a property that must hold
//! after each step.
//!
//! # Promises
//!
//! 1. If a list is requested after a 204 to a cancellation, the list does not show the cancelled
//!    order.
//! 2. While a replica has a session, its list and its cached key reflect only changes in the
//!    journal of the session's server. The list reflects exactly the changes of orders up to the
//!    list's position. The cached key reflects every change of keys up to the cache's position.
//!    Lists and caches of another history are exempt.
//! 3. A revoked key is accepted for a second at most.
//! 4. A session never sends more concurrent queries than allowed.
//!
//! A restore may lose an acknowledged change, or a standby without the change may be promoted. The
//! first and third promises then no longer cover that change. The second promise still holds,
//! except in a session during which rows were restored.
//!
//! # Assumptions
//!
//! - Only one primary, the leader, can confirm a commit. A replaced primary cannot confirm commits,
//!   because it has lost its standby and `synchronous_standby_names` requires every named standby.
//!   But a replaced primary continues to answer reads, and may show a commit that no standby has.
//! - A replica can be suspended between any two steps while its clock continues. The model does not
//!   contain machines that stop together with their clock.
//! - If rows are restored while a session is open, the restore locks the rows. The lock lasts
//!   longer than the timeout of a query. No restore happens while a replica reads all rows.
//!
//! `tests/mutants.rs` changes decisions in copies of the server's source, one at a time. It checks
//! that the search then finds a broken promise.

#![cfg(test)]

mod agreement;
mod hosts;
mod replica;
mod search;
mod tests;
mod time;
mod world;
