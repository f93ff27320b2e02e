//! The state that clients and the operator share: orders to cancel, keys of callers, pauses and the
//! end of the run.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use testbed::Key;
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Writers may choose one of this many recent orders again, so that cancellations of an order can
/// overlap.
const NEIGHBOURS: usize = 6;

const CALLED_AFTER_REVOCATION: Duration = Duration::from_millis(2_500);

/// The factor by which clients lengthen their pauses during some groups of faults. Some defects are
/// visible only without full load.
pub const CALM: u32 = 8;

/// Interval at which sleeping clients check whether the run has ended.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Default)]
pub struct Pool {
    next: AtomicUsize,
    /// The id of the last order that clients may cancel.
    last: AtomicUsize,
    /// The callers' keys, oldest first. Callers use a revoked key until the stored time.
    keys: Mutex<VecDeque<(Key, Option<Instant>)>>,
    /// Writers and limited clients hold a read lock during a request. [`Pool::rest`] takes the
    /// write lock to make writers and limited clients wait.
    turns: RwLock<()>,
    /// Read-locked during each command of the operator; write-locked during a fault in which no
    /// command may run.
    pub commands: RwLock<()>,
    is_over: AtomicBool,
    /// The factor by which the pauses of all clients are multiplied.
    rests: AtomicU32,
    /// The index of the server that clients avoid, plus one; 0 for none.
    avoided: AtomicUsize,
}

impl Pool {
    pub fn new(orders: RangeInclusive<usize>) -> Pool {
        Pool {
            next: AtomicUsize::new(*orders.start()),
            last: AtomicUsize::new(*orders.end()),
            rests: AtomicU32::new(1),
            ..Pool::default()
        }
    }

    /// Returns an order to cancel. About one in four calls returns a recent order, which another
    /// client may be cancelling. Other calls return an untried order, or `None` if no untried order
    /// is left.
    pub fn order_to_cancel(&self, random: &mut fastrand::Rng) -> Option<usize> {
        let next = self.next.load(Ordering::SeqCst);
        if random.u8(0..4) == 0 && next > NEIGHBOURS {
            return Some(next - random.usize(1..=NEIGHBOURS));
        }
        let is_there = |next: usize| (next <= self.last.load(Ordering::SeqCst)).then_some(next + 1);
        self.next.fetch_update(Ordering::SeqCst, Ordering::SeqCst, is_there).ok()
    }

    /// The number of orders that no client has tried to cancel.
    pub fn remaining(&self) -> usize {
        (self.last.load(Ordering::SeqCst) + 1).saturating_sub(self.next.load(Ordering::SeqCst))
    }

    /// Returns the id of the order that is `by` places after the next order to cancel.
    pub fn ahead(&self, by: usize) -> usize {
        self.next.load(Ordering::SeqCst) + by
    }

    /// Adds imported orders to those that writers will cancel. `last` is the highest id of the
    /// imported orders.
    pub fn imported(&self, last: usize) {
        self.last.store(last, Ordering::SeqCst);
    }

    /// Returns the keys that callers use now: all valid keys, and those that were revoked less than
    /// [`CALLED_AFTER_REVOCATION`] ago.
    pub fn keys(&self) -> Vec<Key> {
        let mut keys = self.keys.lock();
        keys.retain(|(_, until)| until.is_none_or(|until| Instant::now() < until));
        keys.iter().map(|(key, _)| key.clone()).collect()
    }

    pub fn issued(&self, key: Key) {
        self.keys.lock().push_back((key, None));
    }

    pub fn key_to_revoke(&self, at_least: usize) -> Option<Key> {
        let keys = self.keys.lock();
        let mut valid = keys.iter().filter(|(_, until)| until.is_none()).map(|(key, _)| key);
        let oldest = valid.next()?.clone();
        (valid.count() + 1 >= at_least).then_some(oldest)
    }

    /// Marks the key as revoked. Clients use a revoked key for a while longer, to test that servers
    /// refuse it.
    pub fn revoked(&self, id: &str) {
        let mut keys = self.keys.lock();
        for (_, until) in keys.iter_mut().filter(|(key, _)| key.id == id) {
            *until = Some(Instant::now() + CALLED_AFTER_REVOCATION);
        }
    }

    /// Permits a writer or limited client to send requests until the guard is dropped. Waits while
    /// a guard of [`Pool::rest`] exists.
    pub async fn turn(&self) -> RwLockReadGuard<'_, ()> {
        self.turns.read().await
    }

    /// Waits until the requests of writers and limited clients have ended. Blocks new ones until
    /// the guard is dropped.
    pub async fn rest(&self) -> RwLockWriteGuard<'_, ()> {
        self.turns.write().await
    }

    /// Sets the factor by which the pauses of all clients are multiplied. With 0, clients do not
    /// pause.
    pub fn set_rests(&self, times: u32) {
        self.rests.store(times, Ordering::SeqCst);
    }

    pub async fn pause(&self, rest: Duration) {
        tokio::time::sleep(rest * self.rests.load(Ordering::SeqCst)).await;
    }

    /// Sets the server that clients avoid, as a load balancer avoids a server before it is stopped.
    pub fn avoid(&self, server: Option<usize>) {
        self.avoided.store(server.map_or(0, |server| server + 1), Ordering::SeqCst);
    }

    pub fn choose(&self, server: usize, servers: usize) -> usize {
        match self.avoided.load(Ordering::SeqCst) == server + 1 {
            true => (server + 1) % servers,
            false => server,
        }
    }

    pub async fn sleep_until(&self, until: Instant) {
        while !self.is_over() && Instant::now() < until {
            tokio::time::sleep(LOOK.min(until.saturating_duration_since(Instant::now()))).await;
        }
    }

    /// Tells the clients to stop. Each client first finishes the current pass of its loop.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }
}
