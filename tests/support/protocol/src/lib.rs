//! A model of the protocol by which replicas agree through PostgreSQL, and searches that check it.
//! The model is bounded: three hosts, two replicas (one of which only cancels), one order to cancel
//! or one key to revoke, and at most three changes. Each search in `tests.rs` explores every
//! sequence of steps within its scope. Scopes with failovers have at most two changes, and only one
//! change if they also have restores. No scope has both failovers and reads in pages.
//!
//! A replica in the model makes its decisions with the server's own source, `src/store/agreement`.
//! This package adds the hosts, the steps and the promises: properties that must hold after each
//! step.
//!
//! # Promises
//!
//! 1. No list that is requested after a cancellation was answered 204 shows the cancelled order.
//! 2. While a replica has a session, its list and its cached key contain only changes that are in
//!    the journal of the session's server. The cached key contains every change of keys that the
//!    cache reflects. The list shows exactly the changes (steps of imports, and cancellations) up
//!    to the position that it claims. A list or cache of another history is exempt.
//! 3. A revoked key is accepted for a second at most.
//! 4. A session never sends more concurrent queries than allowed.
//!
//! If a restore loses an acknowledged change, or a standby without the change is promoted, the
//! first and third promises no longer cover that change. The second promise still holds, except in
//! a session during which rows were restored.
//!
//! # Assumptions
//!
//! Only one primary, the leader, can confirm a commit. A replaced primary cannot confirm commits,
//! because it has lost its standby and `synchronous_standby_names` is set safely. But it continues
//! to answer reads, and may show a commit that no standby has. A replica can be suspended between
//! any two steps while its clock continues; machines that stop together with their clock are not
//! modelled. A restore of rows under a running session locks them for longer than an answer takes,
//! and does not happen while all rows are being read.
//!
//! `tests/mutants.rs` changes decisions in copies of the server's source, one at a time, and checks
//! that the search then finds a broken promise.

#![cfg(test)]

mod agreement;
mod hosts;
mod replica;
mod search;
mod tests;
mod time;
mod world;
