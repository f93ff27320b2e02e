//! Decides whether requests should be sent to this server, for `/readyz` and the metrics. Queries
//! the store, so that a monitor notices a failure even while clients send no requests.

use crate::context::ServerContext;
use crate::log::ErrorChain;
use crate::store::{Position, READINESS_TIMEOUT, StoreError};
use parking_lot::Mutex;
use prometheus::{
    Gauge, IntGauge, IntGaugeVec, Registry, register_gauge_with_registry as register_gauge,
    register_int_gauge_vec_with_registry as register_int_gauge_vec,
    register_int_gauge_with_registry as register_int_gauge,
};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Stopping,
    /// The store is damaged, and `serve_damaged` is off.
    StoreDamaged,
    StoreUnreachable,
    /// The store fails or does not respond, and fewer synchronous standbys confirm commits than the
    /// primary requires.
    StandbyAway,
    /// The store refuses this server, for example because a newer program migrated the store. Only
    /// the operator can change this state.
    StoreRefuses,
    /// The server is reading the whole list, because the store has a new history or could not be
    /// reached when the server started.
    ListOutdated,
    /// A batch of cancellations hangs, or the last batch failed and a test write fails too.
    WritesFail,
    CountsUnavailable,
    /// The cached keys may be out of date, so requests with a key are refused.
    KeysOutdated,
}

impl Reason {
    const ALL: [Reason; 9] = [
        Reason::Stopping,
        Reason::StoreDamaged,
        Reason::StoreUnreachable,
        Reason::StandbyAway,
        Reason::StoreRefuses,
        Reason::ListOutdated,
        Reason::WritesFail,
        Reason::CountsUnavailable,
        Reason::KeysOutdated,
    ];

    /// Returns the name of the reason in `/readyz` and in the metric `store_orders_unready`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Reason::Stopping => "stopping",
            Reason::StoreDamaged => "store_damaged",
            Reason::StoreUnreachable => "store_unreachable",
            Reason::StandbyAway => "standby_away",
            Reason::StoreRefuses => "store_refuses",
            Reason::ListOutdated => "list_outdated",
            Reason::WritesFail => "writes_fail",
            Reason::CountsUnavailable => "counts_unavailable",
            Reason::KeysOutdated => "keys_outdated",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Unready {
    pub reason: Reason,
    pub message: String,
}

fn unready(reason: Reason, message: impl Into<String>) -> Unready {
    Unready { reason, message: message.into() }
}

/// The result of querying the store. `unready` is `None` if the query found no problem.
struct StoreState {
    /// True if the store answers, even if it refuses this server.
    is_reachable: bool,
    unready: Option<Unready>,
}

pub struct Readiness {
    server: Arc<ServerContext>,
    /// Locked during a query, so that a slow store gets only one readiness query at a time.
    query_lock: Arc<tokio::sync::Mutex<()>>,
    lag: Arc<Mutex<ListLag>>,
    gauges: Gauges,
}

struct Gauges {
    ready: IntGauge,
    unready: IntGaugeVec,
    store_reachable: IntGauge,
    list_lag: Gauge,
    standbys_required: IntGauge,
    standbys_confirming: IntGauge,
}

impl Gauges {
    fn register(registry: &Registry) -> prometheus::Result<Gauges> {
        Ok(Gauges {
            ready: register_int_gauge!(
                "store_orders_ready",
                "1 if requests should be sent to this server, as /readyz says.",
                registry
            )?,
            unready: register_int_gauge_vec!(
                "store_orders_unready",
                "1 for the reason why the server is not ready.",
                &["reason"],
                registry
            )?,
            store_reachable: register_int_gauge!(
                "store_orders_store_reachable",
                "1 if the store answers this server.",
                registry
            )?,
            list_lag: register_gauge!(
                "store_orders_list_lag_seconds",
                "How long the list in memory has lacked a change of the store; each request for a \
                 list waits for what it lacks.",
                registry
            )?,
            standbys_required: register_int_gauge!(
                "store_orders_standbys_required",
                "Synchronous standbys that must confirm each commit of the store.",
                registry
            )?,
            standbys_confirming: register_int_gauge!(
                "store_orders_standbys_confirming",
                "Synchronous standbys that can confirm a commit of the store.",
                registry
            )?,
        })
    }
}

impl Readiness {
    pub fn new(server: Arc<ServerContext>) -> prometheus::Result<Readiness> {
        let gauges = Gauges::register(&server.metrics.registry)?;
        Ok(Readiness { server, query_lock: Arc::default(), lag: Arc::default(), gauges })
    }

    /// Returns why requests should not be sent to this server, or `None` if the server is ready.
    pub async fn unready(&self) -> Option<Unready> {
        if let Some(unready) = self.check_without_store() {
            return Some(unready);
        }
        self.query_store().await.unready.or_else(|| self.refusal_reason())
    }

    pub async fn observe(&self) {
        let StoreState { is_reachable, unready } = self.query_store().await;
        let unready = self.check_without_store().or(unready).or_else(|| self.refusal_reason());
        let gauges = &self.gauges;
        gauges.ready.set(unready.is_none().into());
        for reason in Reason::ALL {
            let is_reason = unready.as_ref().is_some_and(|unready| unready.reason == reason);
            gauges.unready.with_label_values(&[reason.as_str()]).set(is_reason.into());
        }
        gauges.store_reachable.set(is_reachable.into());
        gauges.list_lag.set(self.lag.lock().duration(Instant::now()).as_secs_f64());
        let standbys = self.server.store.standbys();
        gauges.standbys_required.set(standbys.required.into());
        gauges.standbys_confirming.set(standbys.confirming.into());
    }

    fn check_without_store(&self) -> Option<Unready> {
        if self.server.is_stopping.load(Ordering::Relaxed) {
            return Some(unready(Reason::Stopping, "the server is stopping"));
        }
        let damage = self.server.damage_check.refuses()?;
        Some(unready(Reason::StoreDamaged, format!("the store is damaged: {damage}")))
    }

    /// Returns the reason if requests with a key cannot be served.
    fn refusal_reason(&self) -> Option<Unready> {
        if let Some(why) = self.server.rate_limiter.unavailable_because() {
            let message = format!("requests cannot be counted: {why}");
            return Some(unready(Reason::CountsUnavailable, message));
        }
        let is_current = self.server.keys.is_current();
        (!is_current).then(|| unready(Reason::KeysOutdated, "keys cannot be checked"))
    }

    async fn query_store(&self) -> StoreState {
        let (server, lag) = (Arc::clone(&self.server), Arc::clone(&self.lag));
        let answer = async {
            let guard = Arc::clone(&self.query_lock).lock_owned().await;
            // The task keeps the lock until the store answers, even if this caller stops waiting.
            // So a slow store gets only one query at a time.
            let query = async move {
                let _guard = guard;
                check_store(&server, &lag).await
            };
            tokio::spawn(query).await
        };
        let silent = |message| StoreState {
            is_reachable: false,
            unready: Some(unready(self.unreachable_reason(), message)),
        };
        match tokio::time::timeout(READINESS_TIMEOUT, answer).await {
            Ok(Ok(state)) => state,
            Ok(Err(_)) => silent("the store panicked"),
            Err(_) => silent("the store does not answer"),
        }
    }

    fn unreachable_reason(&self) -> Reason {
        unreachable_reason(&self.server)
    }
}

fn unreachable_reason(server: &ServerContext) -> Reason {
    let standbys = server.store.standbys();
    match standbys.confirming < standbys.required {
        true => Reason::StandbyAway,
        false => Reason::StoreUnreachable,
    }
}

/// Checks the store, and measures the lag of the list. If the store has a new history, starts a
/// refresh of the list.
async fn check_store(server: &Arc<ServerContext>, lag: &Mutex<ListLag>) -> StoreState {
    let text = |error: &dyn Error| ErrorChain(error).to_string();
    let failed = |error: StoreError| match error {
        StoreError::Refused(why) | StoreError::Unusable(why) => {
            StoreState { is_reachable: true, unready: Some(unready(Reason::StoreRefuses, why)) }
        }
        other => {
            let reason = unreachable_reason(server);
            StoreState { is_reachable: false, unready: Some(unready(reason, text(&other))) }
        }
    };
    let polled = async {
        server.store.require_ready()?;
        server.store.poll_changes().await
    };
    let stored = match polled.await {
        Ok(polled) => polled.last_changes.orders,
        Err(error) => return failed(error),
    };
    let listed = server.orders.position();
    lag.lock().observe(Instant::now(), stored, listed);
    let unready = if stored.history != listed.history {
        server.orders.begin_refresh();
        Some(unready(Reason::ListOutdated, "the list is being read"))
    } else {
        let writes = server.orders.require_writable().await;
        writes.err().map(|error| unready(Reason::WritesFail, text(&error)))
    };
    StoreState { is_reachable: true, unready }
}

/// The time at which the list began to lag behind the store, and the store's last change at that
/// time. `None` if the list has every change.
///
/// The lag ends when the list has the recorded change. If the list then lacks a later change, a new
/// lag begins.
#[derive(Debug, Default)]
struct ListLag(Option<(Instant, Position)>);

impl ListLag {
    fn observe(&mut self, now: Instant, stored: Position, listed: Position) {
        self.0 = match self.0 {
            _ if !stored.has_more_than(listed) => None,
            // The store has a new history, but the lag continues. Replace the recorded change,
            // because numbers of different histories cannot be compared.
            Some((since, lacked)) if lacked.history != stored.history => Some((since, stored)),
            Some((since, lacked)) if lacked.has_more_than(listed) => Some((since, lacked)),
            _ => Some((now, stored)),
        };
    }

    fn duration(&self, now: Instant) -> Duration {
        self.0.map_or(Duration::ZERO, |(since, _)| now.saturating_duration_since(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lag_begins_when_the_oldest_missing_change_is_seen() {
        let began = Instant::now();
        let second = |number| began + Duration::from_secs(number);
        let change = |history, number| Position { history, number };
        let mut lag = ListLag::default();
        for (now, stored, listed, lags) in [
            (0, change(0, 5), change(0, 5), 0),
            (1, change(0, 7), change(0, 5), 0),
            (4, change(0, 9), change(0, 6), 3),
            // The list now has change 7, so the lag of change 7 ends. The lag of change 9 begins
            // now, although change 9 was stored by second 4.
            (5, change(0, 9), change(0, 8), 0),
            (6, change(0, 9), change(0, 8), 1),
            // The store has a new history, and the list has none of its changes. So the lag that
            // began at second 5 continues.
            (8, change(1, 2), change(0, 8), 3),
            (9, change(1, 2), change(0, 8), 4),
            (10, change(1, 3), change(1, 2), 0),
            (11, change(1, 3), change(1, 3), 0),
        ] {
            lag.observe(second(now), stored, listed);
            assert_eq!(lag.duration(second(now)), Duration::from_secs(lags), "after {now} s");
        }
    }

    #[test]
    fn reason_names_are_distinct() {
        let names: std::collections::BTreeSet<&str> =
            Reason::ALL.iter().map(|reason| reason.as_str()).collect();
        assert_eq!(names.len(), Reason::ALL.len());
    }
}
