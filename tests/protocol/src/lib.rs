//! How replicas agree through PostgreSQL, as a model that is searched whole: three hosts, two
//! replicas, one order or one key, two changes, and every sequence of steps. It holds no code of
//! the server; its names are those of `src/store/postgres`, `src/orders` and `src/key_cache`.
//!
//! # What is promised
//!
//! 1. No list that begins after a 204 shows the order.
//! 2. A replica with a session has nothing that the journal of its server does not have.
//! 3. A revoked key is accepted for a second at most.
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
//! stopped as a whole, with its clock, is outside the model.
//!
//! # The rules
//!
//! - **Lease.** A heartbeat is a commit. A session is confirmed (`require_confirmed`) for a second
//!   after the *sending* of its last confirmed heartbeat, so on a replaced primary for a second
//!   after the promotion at most. Lists judge it when the answer to their check is there, keys
//!   are known as of the earlier of that heartbeat and their own question (`as_of`).
//! - **Wait.** A session to a server that was not the last one acknowledges no cancellation, and
//!   checks no list, for a second (`acknowledges_from`): until then another replica may list from
//!   the primary that was replaced. A session that is opened again does not shorten the wait. The
//!   server is the last one only if nothing of it differs: a timeline can be begun twice.
//! - **Journal.** Every commit has an id of its own in `changes`. A new session asks whether the
//!   journal has the last change that the replica has `seen`. If not, a new generation begins, and
//!   everything is read again; what still comes from the one before is not applied to it.
//! - **Catch-up.** What was read is `seen` before it is known that the session was open then, and
//!   so before it is applied. Otherwise the next session could not ask about it.

#[cfg(test)]
mod model;
#[cfg(test)]
mod search;
#[cfg(test)]
mod tests;
