//! What clients and the operator share: orders to cancel, keys to call with, and when to rest.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use testbed::Key;
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// How far back a writer may choose an order that another is cancelling too.
const NEIGHBOURS: usize = 6;

/// How long keys are called with after they were revoked.
const CALLED_AFTER_REVOCATION: Duration = Duration::from_millis(2_500);

/// How much longer clients rest that send little.
pub const CALM: u32 = 8;

/// How often those that sleep look whether everything is over.
const LOOK: Duration = Duration::from_millis(100);

/// Shared by clients and the operator.
#[derive(Default)]
pub struct Pool {
    /// The next order to cancel.
    next: AtomicUsize,
    /// The last order that there is.
    last: AtomicUsize,
    /// Keys to call with, each until then.
    keys: Mutex<VecDeque<(Key, Option<Instant>)>>,
    /// Held by those that change or count something, for each request.
    turns: RwLock<()>,
    /// Read-locked by each operator command; write-locked by a fault during which none may run.
    pub commands: RwLock<()>,
    is_over: AtomicBool,
    /// How many times as long as usual clients rest.
    rests: AtomicU32,
    /// The server that clients avoid, and one more; 0 for none.
    avoided: AtomicUsize,
}

impl Pool {
    /// These orders.
    pub fn new(orders: RangeInclusive<usize>) -> Pool {
        Pool {
            next: AtomicUsize::new(*orders.start()),
            last: AtomicUsize::new(*orders.end()),
            rests: AtomicU32::new(1),
            ..Pool::default()
        }
    }

    /// An order that is pending as far as anybody knows; sometimes one that another client
    /// cancels at this moment. `None` if all are taken.
    pub fn order_to_cancel(&self, random: &mut fastrand::Rng) -> Option<usize> {
        let next = self.next.load(Ordering::SeqCst);
        if random.u8(0..4) == 0 && next > NEIGHBOURS {
            return Some(next - random.usize(1..=NEIGHBOURS));
        }
        let is_there = |next: usize| (next <= self.last.load(Ordering::SeqCst)).then_some(next + 1);
        self.next.fetch_update(Ordering::SeqCst, Ordering::SeqCst, is_there).ok()
    }

    /// How many orders no client has tried to cancel.
    pub fn left(&self) -> usize {
        (self.last.load(Ordering::SeqCst) + 1).saturating_sub(self.next.load(Ordering::SeqCst))
    }

    /// The order `by` places after the next one to cancel.
    pub fn ahead(&self, by: usize) -> usize {
        self.next.load(Ordering::SeqCst) + by
    }

    /// There are orders up to this one.
    pub fn imported(&self, last: usize) {
        self.last.store(last, Ordering::SeqCst);
    }

    /// The keys to call with now.
    pub fn keys(&self) -> Vec<Key> {
        let mut keys = self.keys.lock();
        keys.retain(|(_, until)| until.is_none_or(|until| Instant::now() < until));
        keys.iter().map(|(key, _)| key.clone()).collect()
    }

    /// A key to call with.
    pub fn issued(&self, key: Key) {
        self.keys.lock().push_back((key, None));
    }

    /// The oldest key that is not revoked, if there are this many.
    pub fn key_to_revoke(&self, at_least: usize) -> Option<Key> {
        let keys = self.keys.lock();
        let mut valid = keys.iter().filter(|(_, until)| until.is_none()).map(|(key, _)| key);
        let oldest = valid.next()?.clone();
        (valid.count() + 1 >= at_least).then_some(oldest)
    }

    /// The key was revoked: it is called with for a while.
    pub fn revoked(&self, id: &str) {
        let mut keys = self.keys.lock();
        for (_, until) in keys.iter_mut().filter(|(key, _)| key.id == id) {
            *until = Some(Instant::now() + CALLED_AFTER_REVOCATION);
        }
    }

    /// Waits until no rest is held.
    pub async fn turn(&self) -> RwLockReadGuard<'_, ()> {
        self.turns.read().await
    }

    /// Has those that change or count something rest, after the request that each has sent.
    pub async fn rest(&self) -> RwLockWriteGuard<'_, ()> {
        self.turns.write().await
    }

    /// From now on clients rest this many times as long as usual.
    pub fn set_rests(&self, times: u32) {
        self.rests.store(times, Ordering::SeqCst);
    }

    /// Sleeps `rest`, times the factor of [`Pool::set_rests`].
    pub async fn pause(&self, rest: Duration) {
        tokio::time::sleep(rest * self.rests.load(Ordering::SeqCst)).await;
    }

    /// The server that clients send nothing to from now on, as a balancer does before it is
    /// stopped.
    pub fn avoid(&self, server: Option<usize>) {
        self.avoided.store(server.map_or(0, |server| server + 1), Ordering::SeqCst);
    }

    /// This server, or its neighbour if it is avoided.
    pub fn choose(&self, server: usize, servers: usize) -> usize {
        match self.avoided.load(Ordering::SeqCst) == server + 1 {
            true => (server + 1) % servers,
            false => server,
        }
    }

    /// Sleeps until then, or until everything is over.
    pub async fn sleep_until(&self, until: Instant) {
        while !self.is_over() && Instant::now() < until {
            tokio::time::sleep(LOOK.min(until.saturating_duration_since(Instant::now()))).await;
        }
    }

    /// Everything is over.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    /// Whether everything is over.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }
}
