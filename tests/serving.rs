//! What the operator has of a server: TLS, the operators' listener, an end in
//! time, and a full disk.

mod full_disk;
mod metrics;
mod open_files;
mod operators;
mod program;
mod stalled;
mod stopping;
mod tls;

use std::time::{Duration, Instant};

/// How long something may take to come about that is waited for: far more than
/// it needs, so that only what never comes fails.
const LONGEST: Duration = Duration::from_secs(60);

/// Waits until this is so.
async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < LONGEST, "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
