//! What a limiter logs: its messages, counted.

use super::clients::limiter_with_log;
use slog::{Drain, Logger, Never, OwnedKVList, Record, o};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use store_orders::config::LimitsLost;
use store_orders::limits::RedisLimits;

/// How often each message was logged.
#[derive(Clone, Default)]
pub struct Events(Arc<Mutex<HashMap<String, usize>>>);

impl Events {
    /// How often this was logged so far.
    pub fn count(&self, message: &str) -> usize {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(message).copied().unwrap_or_default()
    }
}

impl Drain for Events {
    type Ok = ();
    type Err = Never;

    fn log(&self, record: &Record<'_>, _: &OwnedKVList) -> Result<(), Never> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(record.msg().to_string()).or_default() += 1;
        Ok(())
    }
}

/// A limiter on the Redis at this port of the loopback, and what it logs.
pub async fn logging_limiter(
    port: u16,
    lost: LimitsLost,
) -> anyhow::Result<(Arc<RedisLimits>, Events)> {
    let events = Events::default();
    let log = Logger::root(events.clone(), o!());
    let limits = limiter_with_log(&format!("redis://127.0.0.1:{port}"), lost, log).await?;
    Ok((Arc::new(limits), events))
}
