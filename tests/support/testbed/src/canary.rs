//! How long the machine itself stood still: a thread that only sleeps notices.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const SLEEP: Duration = Duration::from_millis(5);

/// Sleeps that end later than this are reported: less is usual on a machine with work to do.
const REPORT_ABOVE: Duration = Duration::from_millis(20);

/// The thread; it ends when this is dropped.
pub struct Canary {
    ends: Arc<AtomicBool>,
    longest_nanos: Arc<AtomicU64>,
    /// Of the sleeps that were reported.
    late_nanos: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Canary {
    /// Starts the thread.
    pub fn start() -> std::io::Result<Canary> {
        Canary::telling(|_| ())
    }

    /// Starts the thread. Calls `tell` with each sleep's lateness as it ends.
    pub fn telling(tell: impl Fn(Duration) + Send + 'static) -> std::io::Result<Canary> {
        let (ends, longest_nanos, late_nanos) = <(Arc<AtomicBool>, Arc<_>, Arc<_>)>::default();
        let stop = Arc::clone(&ends);
        let (longest, sum) = (Arc::clone(&longest_nanos), Arc::clone(&late_nanos));
        let thread = std::thread::Builder::new().name("canary".to_string()).spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let began = Instant::now();
                std::thread::sleep(SLEEP);
                let late = began.elapsed().saturating_sub(SLEEP);
                let nanos = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
                AtomicU64::fetch_max(&longest, nanos, Ordering::Relaxed);
                if late > REPORT_ABOVE {
                    AtomicU64::fetch_add(&sum, nanos, Ordering::Relaxed);
                    tell(late);
                }
            }
        })?;
        Ok(Canary { ends, longest_nanos, late_nanos, thread: Some(thread) })
    }

    /// The longest time by which a sleep was late so far: bounds in time allow for it.
    pub fn longest_stall(&self) -> Duration {
        Duration::from_nanos(self.longest_nanos.load(Ordering::Relaxed))
    }

    /// For how long the machine stood still so far, all stalls together.
    pub fn stalled(&self) -> Duration {
        Duration::from_nanos(self.late_nanos.load(Ordering::Relaxed))
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It does not panic.
            let _ = thread.join();
        }
    }
}
