//! Whether Redis is lost, since when and why.

use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// How long a client is asked to wait: as long as the outage has lasted, within these.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The outage of the moment, if there is one.
#[derive(Debug, Default)]
pub struct Outage(Mutex<Option<(Instant, String)>>);

impl Outage {
    /// It begins, or goes on for this reason.
    pub fn begin(&self, why: String) {
        let mut outage = self.0.lock();
        let since = outage.as_ref().map_or_else(Instant::now, |(since, _)| *since);
        *outage = Some((since, why));
    }

    /// Redis is reached again.
    pub fn end(&self) {
        *self.0.lock() = None;
    }

    /// Whether there is one.
    pub fn is_under_way(&self) -> bool {
        self.0.lock().is_some()
    }

    /// Why there is one.
    pub fn why(&self) -> Option<String> {
        self.0.lock().as_ref().map(|(_, why)| why.clone())
    }

    /// How long a client should wait, in whole seconds.
    pub fn retry_after(&self) -> Duration {
        let lasted = self.0.lock().as_ref().map(|(since, _)| since.elapsed().as_secs());
        Duration::from_secs(lasted.unwrap_or(0)).clamp(SHORTEST_WAIT, LONGEST_WAIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_grows_with_the_outage() {
        let outage = Outage::default();
        assert_eq!((outage.is_under_way(), outage.retry_after()), (false, SHORTEST_WAIT));
        for (lasted, wait) in [(0, 1), (3, 3), (600, 5)] {
            let since = Instant::now().checked_sub(Duration::from_secs(lasted)).unwrap();
            *outage.0.lock() = Some((since, "refused".to_string()));
            outage.begin("reset".to_string());
            assert_eq!(outage.why().as_deref(), Some("reset"));
            assert_eq!(outage.retry_after(), Duration::from_secs(wait), "after {lasted} s");
        }
        outage.end();
        assert!(!outage.is_under_way());
    }
}
