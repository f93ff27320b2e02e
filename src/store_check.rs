//! Whether the store is damaged: what reading the orders has found, and the check of the
//! store's structure in the background after the start. A damaged page may read as fewer
//! orders, so a store that is known to be damaged is not served, unless the operator has it so.
//!
//! The check is SQLite's `quick_check`, in one read on a connection of its own. In slices it
//! could not tell a page that is missing from one that is read later. While the read is
//! open the write-ahead log only grows, so it ends after ten seconds, finished or not:
//! a million orders take about one (55 MB/s, measured).

use crate::log::ErrorChain;
use crate::store::{Store, Structure};
use slog::{Logger, error, info, warn};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How long the check may hold its read.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A check, under way or finished.
#[derive(Clone, Debug)]
pub struct StoreCheck(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    damage: OnceLock<String>,
    is_stopped: AtomicBool,
    serves_damaged: bool,
}

impl StoreCheck {
    /// Starts the check, whose result is logged, unless damage is known by now. Call it inside a
    /// runtime.
    pub fn start(store: Arc<dyn Store>, serves_damaged: bool, log: &Logger) -> StoreCheck {
        let check = StoreCheck(Arc::new(Inner { serves_damaged, ..Inner::default() }));
        if let Some(damage) = store.damage() {
            check.0.set_damaged(damage.to_string(), log);
            return check;
        }
        let (inner, log) = (Arc::clone(&check.0), log.clone());
        tokio::spawn(async move { inner.run(&*store, &log).await });
        check
    }

    /// Ends the check, so that its read holds up nothing.
    pub fn stop(&self) {
        self.0.is_stopped.store(true, Ordering::Relaxed);
    }

    /// The first damage that was found, if any.
    pub fn damage(&self) -> Option<&str> {
        self.0.damage.get().map(String::as_str)
    }

    /// The damage because of which requests are refused, if any.
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
        let gives_up = move || inner.is_stopped() || started.elapsed() >= TIMEOUT;
        let checked = store.quick_check(Box::new(gives_up)).await;
        let seconds = started.elapsed().as_secs_f64();
        match checked {
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
        // Set once: the check does not start where damage is known.
        let damage = self.damage.get_or_init(|| damage);
        error!(log, "the store is damaged"; "damage" => damage, "effect" => effect,
            "fix" => "stop the server, run `store-orders check`, and restore a backup");
    }
}
