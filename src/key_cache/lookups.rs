//! Batches key lookups of concurrent requests. Only one batch is looked up at a time, and a batch
//! has a bounded number of keys. So a flood of made-up keys costs PostgreSQL at most one statement
//! per round trip.

use super::cached_keys::KnownKey;
use crate::api_key::Digest;
use crate::clock::BootInstant;
use crate::rate_limiter::AddressKey;
use parking_lot::Mutex;
use quick_cache::sync::Cache;
use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, oneshot};

/// The maximum number of different keys in a batch. Batches are limited, because each key costs the
/// store an index lookup.
const MAX_KEYS: usize = 512;

const SHED_ADDRESSES: usize = 4_096;

pub struct LookedUp {
    /// The key, or `None` if it was never issued.
    pub key: Option<Arc<KnownKey>>,
    /// The result includes every change that was acknowledged before this instant.
    pub as_of: BootInstant,
}

pub struct Waiter {
    pub digest: Digest,
    /// Sends the result to the waiting caller. Dropped without a result if the query failed.
    pub answer: oneshot::Sender<LookedUp>,
    /// True if the client's address is over its limit of requests without a valid key. All other
    /// waiting lookups go first.
    is_last: bool,
}

pub struct Lookups {
    waiting: Mutex<Vec<Waiter>>,
    added: Notify,
    /// Addresses over their limit of requests without a valid key. Their lookups have a low
    /// priority until the stored time.
    shed: Cache<AddressKey, BootInstant>,
}

impl Default for Lookups {
    fn default() -> Lookups {
        Lookups {
            waiting: Mutex::default(),
            added: Notify::new(),
            shed: Cache::new(SHED_ADDRESSES),
        }
    }
}

impl Lookups {
    /// Gives lookups for this address a low priority for the duration `lasts`, because the address
    /// is over its limit of requests without a valid key.
    pub fn shed(&self, address: IpAddr, lasts: Duration) {
        self.shed.insert(AddressKey::from(address), BootInstant::now() + lasts);
    }

    /// Looks up the key with this digest. Returns `None` if the query fails. Lookups for an address
    /// in `shed` come after all others that wait.
    pub async fn join(&self, digest: Digest, address: IpAddr) -> Option<LookedUp> {
        let (answer, receiver) = oneshot::channel();
        let is_shed = |until| BootInstant::now() < until;
        let is_last = self.shed.get(&AddressKey::from(address)).is_some_and(is_shed);
        self.waiting.lock().push(Waiter { digest, answer, is_last });
        self.added.notify_one();
        receiver.await.ok()
    }

    pub async fn take_batch(&self) -> Vec<Waiter> {
        loop {
            let next = take_next(&mut self.waiting.lock());
            if !next.is_empty() {
                return next;
            }
            self.added.notified().await;
        }
    }
}

/// Takes the next lookups that together need at most [`MAX_KEYS`] keys. Drops lookups whose caller
/// no longer waits.
fn take_next(waiting: &mut Vec<Waiter>) -> Vec<Waiter> {
    waiting.retain(|waiter| !waiter.answer.is_closed());
    // The sort is stable, so requests with the same priority stay in the order of their arrival.
    waiting.sort_by_key(|waiter| waiter.is_last);
    let mut digests = HashSet::new();
    let fits = |waiter: &&Waiter| {
        let has_room = digests.len() < MAX_KEYS;
        digests.insert(waiter.digest);
        has_room
    };
    let count = waiting.iter().take_while(fits).count();
    waiting.drain(..count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    const LONG: Duration = Duration::from_secs(60);

    fn digest(number: usize) -> Digest {
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&number.to_le_bytes());
        Digest(digest)
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_statement_has_a_bounded_number_of_keys_and_keys_of_floods_come_last() {
        let lookups = Lookups::default();
        lookups.shed(address("2001:db8::1"), LONG);
        let mut requests: Vec<_> = (0..MAX_KEYS)
            .map(|number| Box::pin(lookups.join(digest(number), address("2001:db8::2"))))
            .collect();
        requests.extend(
            [MAX_KEYS, MAX_KEYS, MAX_KEYS + 1]
                .map(|number| Box::pin(lookups.join(digest(number), address("2001:db8:1::2")))),
        );
        for request in &mut requests {
            assert!(request.now_or_never().is_none());
        }
        // The client of the first request disconnects.
        drop(requests.swap_remove(0));
        let next = || lookups.take_batch().now_or_never().unwrap_or_default();
        let first: Vec<_> = next().iter().map(|waiter| waiter.digest).collect();
        assert_eq!(first.len(), MAX_KEYS + 1, "a key of two requests counts once");
        let other = [MAX_KEYS, MAX_KEYS, MAX_KEYS + 1].map(digest);
        assert!(first[..3] == other && first[3] == digest(1));
        assert_eq!(next().len(), 1);
        assert!(next().is_empty());
    }
}
