//! How replicas agree through PostgreSQL, searched within bounds: three hosts, two replicas, of
//! which one only cancels, one order or one key to end, and three changes at most. Each search in
//! `tests.rs` goes through every sequence of steps within its scope; with failovers there are two
//! changes at most, and none has them with reads in pages, or restores and two changes of orders.
//! What a replica decides is the server's own source, `src/store/agreement`; here are the hosts, the
//! steps, and what must hold after each.
//!
//! # What is promised
//!
//! 1. No list that begins after a 204 shows the order.
//! 2. A replica with a session has nothing that the journal of its server does not have. A cached
//!    key lacks no change that the cache reflects. The list shows the changes up to the one of its
//!    tag, and no later one: imports in steps and cancellations.
//! 3. A revoked key is accepted for a second at most.
//! 4. Of questions, no more are under way than may be.
//!
//! The promises are for changes that the operator keeps: a restore, or the promotion of a standby
//! that lacks an acknowledged change, releases from the first and the third, never from the second.
//!
//! # What is assumed
//!
//! Only one primary, the leader, can confirm a commit, because the one that was replaced lacks its
//! standby: that is what safe settings of `synchronous_standby_names` are for. Everything else can
//! happen. A replaced primary goes on answering reads, and may show a commit that no standby has.
//! A replica can be suspended between any two steps. Its clock goes on meanwhile: a machine that is
//! stopped as a whole, with its clock, is outside the search. Rows that are restored under a running
//! session are locked for longer than an answer takes, and none are while all are read.
//!
//! `tests/mutants.rs` takes each decision out of the server's source, and the search finds it.

#![cfg(test)]

mod agreement;
mod hosts;
mod replica;
mod search;
mod tests;
mod time;
mod world;
