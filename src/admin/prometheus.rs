//! The registries: every metric with its name and its help, registered once.

use super::computed_gauge::ComputedGauge;
use super::connection_facts::ConnectionFacts;
use super::orders_gauge::OrdersGauge;
use crate::context::ServerContext;
use crate::log::LogBuffer;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use std::sync::Arc;
use store_orders_api::API_VERSION;

/// All metrics of a server.
pub struct Registries {
    /// Those of the service.
    own: Registry,
    /// Those that every process has, whose names have no prefix.
    process: Registry,
}

impl Registries {
    /// The metrics of a server; without a log buffer no line is dropped.
    pub fn new(
        server: &ServerContext,
        orders: OrdersGauge,
        log_buffer: Option<&LogBuffer>,
        connections: ConnectionFacts,
    ) -> Registries {
        let mut own = registry(server, orders, log_buffer);
        if let Some(open) = connections.open {
            let help = "Connections that are open to the listener of the API";
            own.register("open_connections", help, ComputedGauge(open));
        }
        if let Some(ends_at) = connections.certificate_ends_at {
            own.register_with_unit(
                "certificate_expiry_timestamp",
                "When the TLS certificate in use ends, in Unix time",
                Unit::Seconds,
                ComputedGauge(ends_at),
            );
        }
        let mut process = Registry::default();
        #[cfg(target_os = "linux")]
        process.register_collector(Box::new(super::process_metrics::ProcessMetrics));
        Registries { own, process }
    }

    /// As OpenMetrics. Blocks: some figures are read from the system.
    pub fn encode(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        for registry in [&self.own, &self.process] {
            encode_registry(&mut text, registry)?;
        }
        encode_eof(&mut text)?;
        Ok(text)
    }
}

fn registry(
    server: &ServerContext,
    orders: OrdersGauge,
    log_buffer: Option<&LogBuffer>,
) -> Registry {
    let mut registry = Registry::with_prefix("store_orders");
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
    registry.register("orders", "Orders in the store", orders);
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
    registry
}
