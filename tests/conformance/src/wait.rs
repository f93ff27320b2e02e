//! Waits for what a server does by itself.

use std::time::{Duration, Instant};

/// Longer than a server takes for anything.
const LIMIT: Duration = Duration::from_secs(30);

const INTERVAL: Duration = Duration::from_millis(20);

/// Asks until there is an answer.
pub fn until<T>(mut ask: impl FnMut() -> Option<T>) -> anyhow::Result<T> {
    let deadline = Instant::now() + LIMIT;
    loop {
        match ask() {
            Some(answer) => return Ok(answer),
            None if Instant::now() > deadline => anyhow::bail!("nothing came of it in {LIMIT:?}"),
            None => std::thread::sleep(INTERVAL),
        }
    }
}
