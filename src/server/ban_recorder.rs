//! Writes bans to the store, so that every server refuses the keys, even after a restart.

use crate::limits::NewBan;
use crate::log::ErrorChain;
use crate::store::Store;
use slog::{Logger, warn};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::sleep;

/// Maximum number of bans in one change of the store.
const MAX_BATCH: usize = 100;

/// The number of attempts to store a batch of bans, and the pause between two attempts. All
/// attempts together take longer than a failover.
const ATTEMPTS: u32 = 10;
const RETRY_PAUSE: Duration = Duration::from_secs(2);

/// Writes received bans until the channel is closed.
pub async fn record_bans(
    store: Arc<dyn Store>,
    mut new_bans: UnboundedReceiver<NewBan>,
    log: Logger,
) {
    let mut bans = Vec::new();
    while new_bans.recv_many(&mut bans, MAX_BATCH).await > 0 {
        for attempt in 1..=ATTEMPTS {
            let (store, batch) = (Arc::clone(&store), bans.clone());
            // A panic ends only this attempt.
            let result = tokio::spawn(async move { store.record_bans(batch).await });
            let error = match result.await {
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
