//! A thread that only sleeps and measures how late it wakes up. A late wake-up shows that the
//! machine is too busy for exact times.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const SLEEP: Duration = Duration::from_millis(5);

/// The detector counts only stalls that are longer than this, because shorter ones are normal on a
/// busy machine.
const REPORT_ABOVE: Duration = Duration::from_millis(20);

/// Measures stalls on a separate thread, which ends when the detector is dropped.
pub struct StallDetector {
    ends: Arc<AtomicBool>,
    longest_nanos: Arc<AtomicU64>,
    late_nanos: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl StallDetector {
    pub fn start() -> std::io::Result<StallDetector> {
        StallDetector::start_with(|_| ())
    }

    /// Starts the detector. Its thread calls `tell` with the length of each stall above 20 ms.
    pub fn start_with(tell: impl Fn(Duration) + Send + 'static) -> std::io::Result<StallDetector> {
        let (ends, longest_nanos, late_nanos) = <(Arc<AtomicBool>, Arc<_>, Arc<_>)>::default();
        let stop = Arc::clone(&ends);
        let (longest, sum) = (Arc::clone(&longest_nanos), Arc::clone(&late_nanos));
        let thread =
            std::thread::Builder::new().name("stall_detector".to_string()).spawn(move || {
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
        Ok(StallDetector { ends, longest_nanos, late_nanos, thread: Some(thread) })
    }

    /// Returns the longest stall so far, even if it is below 20 ms. Tests extend time limits by
    /// this length.
    pub fn longest_stall(&self) -> Duration {
        Duration::from_nanos(self.longest_nanos.load(Ordering::Relaxed))
    }

    /// Returns the total length of the stalls so far. Only stalls above 20 ms count.
    pub fn stalled(&self) -> Duration {
        Duration::from_nanos(self.late_nanos.load(Ordering::Relaxed))
    }
}

impl Drop for StallDetector {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Ignore the result, because the thread does not panic.
            let _ = thread.join();
        }
    }
}
