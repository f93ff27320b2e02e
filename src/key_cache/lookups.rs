//! Requests that wait until the store has been asked for their keys. One statement is under way at a
//! time and asks for a bounded number of keys, so that a flood of made-up keys costs the store one
//! statement a round trip.

use super::KnownKey;
use crate::clock::BootInstant;
use crate::keys::Digest;
use parking_lot::Mutex;
use quick_cache::sync::Cache;
use std::collections::{HashSet, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, oneshot};

/// The most keys that one statement asks for: each is one search of an index.
const MAX_KEYS: usize = 512;

/// How many addresses are remembered that are over their limit.
const SHED_ADDRESSES: usize = 4_096;

/// A key that was looked up.
pub struct LookedUp {
    /// None if it was never issued.
    pub key: Option<Arc<KnownKey>>,
    /// Every change that was acknowledged before this is in it.
    pub as_of: BootInstant,
}

/// A request that waits, and where its key goes.
pub struct Waiter {
    /// That of the key.
    pub digest: Digest,
    /// Dropped if the store could not be asked.
    pub answer: oneshot::Sender<LookedUp>,
}

/// The requests that wait for their keys.
pub struct Lookups {
    waiting: Mutex<WaitingLookup>,
    asked: Notify,
    /// Addresses over their limit of requests without a valid key, and until when.
    shed: Cache<IpAddr, BootInstant>,
}

#[derive(Default)]
struct WaitingLookup {
    first: VecDeque<Waiter>,
    /// Those from addresses over their limit.
    last: VecDeque<Waiter>,
}

impl Default for Lookups {
    fn default() -> Lookups {
        Lookups {
            waiting: Mutex::default(),
            asked: Notify::new(),
            shed: Cache::new(SHED_ADDRESSES),
        }
    }
}

impl Lookups {
    /// Notes that this address is over its limit for so long.
    pub fn shed(&self, address: IpAddr, lasts: Duration) {
        self.shed.insert(network(address), BootInstant::now() + lasts);
    }

    /// The key of this digest, for a request from this address; none if the store cannot be asked.
    pub async fn join(&self, digest: Digest, address: IpAddr) -> Option<LookedUp> {
        let (answer, answered) = oneshot::channel();
        let is_shed = |until| BootInstant::now() < until;
        let comes_last = self.shed.get(&network(address)).is_some_and(is_shed);
        self.waiting.lock().push(Waiter { digest, answer }, comes_last);
        self.asked.notify_one();
        answered.await.ok()
    }

    /// The next requests whose keys are looked up together, once there are any.
    pub async fn next(&self) -> Vec<Waiter> {
        loop {
            let next = self.waiting.lock().take();
            if !next.is_empty() {
                return next;
            }
            self.asked.notified().await;
        }
    }
}

impl WaitingLookup {
    fn push(&mut self, waiter: Waiter, comes_last: bool) {
        let queue = if comes_last { &mut self.last } else { &mut self.first };
        queue.push_back(waiter);
    }

    /// The next ones, of a bounded number of keys. Those that were given up are left out.
    fn take(&mut self) -> Vec<Waiter> {
        let (mut taken, mut digests) = (Vec::new(), HashSet::new());
        while digests.len() < MAX_KEYS
            && let Some(next) = self.first.pop_front().or_else(|| self.last.pop_front())
        {
            if !next.answer.is_closed() {
                digests.insert(next.digest);
                taken.push(next);
            }
        }
        taken
    }
}

/// What is counted as one address: an IPv4 address or an IPv6 /64.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
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
    fn a_statement_has_a_bounded_number_of_keys_and_those_of_floods_last() {
        let lookups = Lookups::default();
        lookups.shed(address("2001:db8::1"), LONG);
        let mut asked: Vec<_> = (0..MAX_KEYS)
            .map(|number| Box::pin(lookups.join(digest(number), address("2001:db8::2"))))
            .collect();
        asked.extend(
            [MAX_KEYS, MAX_KEYS, MAX_KEYS + 1]
                .map(|number| Box::pin(lookups.join(digest(number), address("2001:db8:1::2")))),
        );
        for waits in &mut asked {
            assert!(waits.now_or_never().is_none());
        }
        // Given up.
        drop(asked.swap_remove(0));
        let next = || lookups.next().now_or_never().unwrap_or_default();
        let first: Vec<_> = next().iter().map(|waiter| waiter.digest).collect();
        assert_eq!(first.len(), MAX_KEYS + 1, "a key that is there twice counts once");
        let other = [MAX_KEYS, MAX_KEYS, MAX_KEYS + 1].map(digest);
        assert!(first[..3] == other && first[3] == digest(1));
        assert_eq!(next().len(), 1);
        assert!(next().is_empty());
    }
}
