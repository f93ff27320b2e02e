//! Writes bans to the store, so that every server refuses the key, also after a restart.

use crate::limits::NewBan;
use crate::log::ErrorChain;
use crate::store::Store;
use slog::{Logger, warn};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::sleep;

/// The most bans of one change.
const MAX_BATCH: usize = 100;

/// How often bans are written that fail to be, and how long after the last attempt: longer than a
/// failover takes.
const ATTEMPTS: u32 = 10;
const RETRY_PAUSE: Duration = Duration::from_secs(2);

/// Writes the bans that are sent, until there will be none.
pub async fn record_bans(store: Arc<dyn Store>, mut begun: UnboundedReceiver<NewBan>, log: Logger) {
    let mut bans = Vec::new();
    while begun.recv_many(&mut bans, MAX_BATCH).await > 0 {
        for attempt in 1..=ATTEMPTS {
            let (store, batch) = (Arc::clone(&store), bans.clone());
            // A panic ends the attempt alone.
            let attempt_made = tokio::spawn(async move { store.record_bans(batch).await });
            let error = match attempt_made.await {
                Ok(Ok(())) => break,
                Ok(Err(error)) => ErrorChain(&error).to_string(),
                Err(panicked) => panicked.to_string(),
            };
            warn!(log, "bans not stored"; "error" => error, "bans" => bans.len(),
                "attempt" => format!("{attempt} of {ATTEMPTS}"),
                "effect" => "other servers admit the keys, and this one does after a restart");
            if attempt < ATTEMPTS {
                sleep(RETRY_PAUSE).await;
            }
        }
        bans.clear();
    }
}
