//! The registry: every metric with its name and its help, registered once.

use super::computed_gauge::{ComputedGauge, Figure};
use super::orders_gauge::OrdersGauge;
use crate::context::ServerContext;
use crate::log::LogBuffer;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use std::sync::Arc;
use store_orders_api::API_VERSION;

/// All metrics of a server; without a log buffer no line is dropped. `open_connections` counts the
/// connections to the listener of the API, where the system tells, and `certificate_ends_at` is in
/// Unix seconds.
pub fn registry(
    server: &ServerContext,
    log_buffer: Option<&LogBuffer>,
    open_connections: Option<Figure>,
    certificate_ends_at: Option<Figure>,
) -> Registry {
    let mut all = Registry::default();
    #[cfg(target_os = "linux")]
    all.register_collector(Box::<super::process_metrics::ProcessMetrics>::default());
    let registry = all.sub_registry_with_prefix("store_orders");
    let metrics = server.metrics.clone();
    registry.register(
        "build",
        "The program that runs, and the API that it serves",
        Info::new([("version", env!("CARGO_PKG_VERSION")), ("api_version", API_VERSION)]),
    );
    registry.register(
        "requests",
        "Requests that were answered, or abandoned by their client (499)",
        metrics.requests.clone(),
    );
    registry.register_with_unit(
        "request_latency",
        "From a request's arrival to the first byte of its answer",
        Unit::Seconds,
        metrics.requests.latencies,
    );
    registry.register(
        "limited_requests",
        "Requests refused because a window was exhausted; without a valid key the plan is none",
        metrics.rate_limited.limited,
    );
    registry.register(
        "banned_requests",
        "Requests refused because their key was banned",
        metrics.rate_limited.banned,
    );
    let orders = OrdersGauge(Arc::clone(&server.orders));
    registry.register("orders", "Orders that are listed", orders);
    registry.register(
        "store_damaged",
        "1 if the store was found damaged, while it was read or by the check after the start",
        server.store_check.gauge().clone(),
    );
    registry.register(
        "commit_batch_size",
        "Cancellations that one transaction carried out",
        metrics.batches,
    );
    let batch = server.orders.running_batch().clone();
    registry.register_with_unit(
        "running_batch_age",
        "How long the running batch of cancellations has been under way",
        Unit::Seconds,
        ComputedGauge(move || batch.age().unwrap_or_default().as_secs_f64()),
    );
    let list = Arc::clone(&server.orders);
    registry.register(
        "outdated_list_bytes",
        "Memory that outdated lists hold while clients read them",
        ComputedGauge(move || list.outdated_bytes() as f64),
    );
    let list = Arc::clone(&server.orders);
    registry.register(
        "connection_list_bytes",
        "Memory of lists that only connections hold: cutting lists off does not free it",
        ComputedGauge(move || list.bytes_in_connections() as f64),
    );
    registry.register(
        "lists_cut_off",
        "Lists that were cut off because outdated lists held too much memory",
        server.orders.lists_cut_off().clone(),
    );
    registry.register("bans", "Bans of keys that have begun", server.limits.bans().clone());
    registry.register(
        "log_lines_dropped",
        "Lines that could not be written to the log",
        log_buffer.map(|buffer| buffer.dropped_lines().clone()).unwrap_or_default(),
    );
    if let Some(open) = open_connections {
        let help = "Connections that are open to the listener of the API";
        registry.register("open_connections", help, ComputedGauge(open));
    }
    if let Some(ends_at) = certificate_ends_at {
        registry.register_with_unit(
            "certificate_expiry_timestamp",
            "When the TLS certificate in use ends, in Unix time",
            Unit::Seconds,
            ComputedGauge(ends_at),
        );
    }
    all
}
