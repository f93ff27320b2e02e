//! Detects a damaged store. A damaged page of the database may hide rows, so lists would lack
//! orders. Therefore a damaged store is served only if the operator allows that.
//!
//! The server finds damage while it reads the orders, or later by SQLite's `quick_check` in the
//! background. The damage check stops after ten seconds, because the write-ahead log grows during
//! its read transaction. A million orders take about one second (55 MB/s, measured). A store in
//! PostgreSQL has no damage check, because PostgreSQL verifies pages itself if data checksums are
//! on.

use crate::log::ErrorChain;
use crate::store::{Store, Structure};
use slog::{Logger, error, info, warn};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The maximum time of the check. A longer read transaction would let the write-ahead log grow too
/// much.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone, Debug)]
pub struct DamageCheck(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    damage: OnceLock<String>,
    is_stopped: AtomicBool,
    serves_damaged: bool,
}

impl DamageCheck {
    /// Starts the check, unless reading the orders has already found damage. Call this inside a
    /// tokio runtime.
    pub fn start(store: Arc<dyn Store>, serves_damaged: bool, log: &Logger) -> DamageCheck {
        let check = DamageCheck(Arc::new(Inner { serves_damaged, ..Inner::default() }));
        if let Some(damage) = store.damage() {
            check.0.set_damaged(damage.to_string(), log);
            return check;
        }
        let (inner, log) = (Arc::clone(&check.0), log.clone());
        tokio::spawn(async move { inner.run(&*store, &log).await });
        check
    }

    pub fn stop(&self) {
        self.0.is_stopped.store(true, Ordering::Relaxed);
    }

    pub fn damage(&self) -> Option<&str> {
        self.0.damage.get().map(String::as_str)
    }

    /// Returns the damage if requests must be refused because of it.
    pub fn refuses(&self) -> Option<&str> {
        self.damage().filter(|_| !self.0.serves_damaged)
    }
}

impl Inner {
    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    async fn run(self: &Arc<Self>, store: &dyn Store, log: &Logger) {
        let started = Instant::now();
        let inner = Arc::clone(self);
        let must_stop = move || inner.is_stopped() || started.elapsed() >= CHECK_TIMEOUT;
        let result = store.quick_check(Box::new(must_stop)).await;
        let seconds = started.elapsed().as_secs_f64();
        match result {
            Ok(Structure::CheckedByEngine) => {}
            Ok(Structure::Sound) => {
                info!(log, "store checked: no damage found"; "seconds" => seconds);
            }
            Ok(Structure::Damaged(damage)) => self.set_damaged(damage, log),
            Err(_) if self.is_stopped() => {}
            Err(error) => warn!(log, "store not checked"; "error" => %ErrorChain(&error),
                "seconds" => seconds, "fix" => "run `store-orders check`"),
        }
    }

    fn set_damaged(&self, damage: String, log: &Logger) {
        let effect = match self.serves_damaged {
            true => "orders may be missing from lists",
            false => "requests are answered with 503; serve_damaged would serve it all the same",
        };
        // `self.damage` is still unset here, because no check starts once damage is known.
        let damage = self.damage.get_or_init(|| damage);
        error!(log, "the store is damaged"; "damage" => damage, "effect" => effect,
            "fix" => "stop the server, run `store-orders check`, and restore a backup");
    }
}
