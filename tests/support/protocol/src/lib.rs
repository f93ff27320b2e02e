//! Model checks the protocol by which replicas agree through PostgreSQL. The model is bounded:
//! three hosts, two replicas (one of which only cancels), one order or one key to end, and at most
//! three changes. Each search in `tests.rs` explores every sequence of steps within its scope;
//! scopes with failovers have at most two changes, and none combines failovers with reads in pages,
//! or restores with two changes of orders. A replica's decisions are the server's own source,
//! `src/store/agreement`; this package adds the hosts, the steps and the properties that must hold
//! after each step.
//!
//! # Promises
//!
//! 1. No list that begins after a 204 shows the order.
//! 2. A replica with a session contains only changes that are in the journal of its server. A
//!    cached key contains every change of keys that the cache reflects. The list shows exactly the
//!    changes up to the one in its tag: imports in steps and cancellations.
//! 3. A revoked key is accepted for a second at most.
//! 4. A session never sends more concurrent queries than allowed.
//!
//! The promises cover changes that the operator keeps: if a restore loses an acknowledged change,
//! or a standby without it is promoted, the first and third promises no longer cover that change.
//! The second promise always holds.
//!
//! # Assumptions
//!
//! Only one primary, the leader, can confirm a commit: a replaced primary has lost its standby,
//! which is the purpose of safe settings of `synchronous_standby_names`. Everything else can
//! happen. A replaced primary continues to answer reads, and may show a commit that no standby has.
//! A replica can be suspended between any two steps while its clock continues; machines that stop
//! together with their clock are not modelled. Restoring rows under a running session locks them
//! for longer than an answer takes, and does not happen while all rows are being read.
//!
//! `tests/mutants.rs` removes each decision from the server's source and checks that the search
//! finds a broken promise.

#![cfg(test)]

mod agreement;
mod hosts;
mod replica;
mod search;
mod tests;
mod time;
mod world;
