//! Registers the metrics of the server's state. Each scrape reads their values.

use crate::context::ServerContext;
use crate::log::{self, LogBuffer};
use crate::orders::OrderList;
use crate::store::Status;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{
    IntGaugeVec, Opts, PullingGauge, Registry,
    register_int_gauge_with_registry as register_int_gauge,
};
use std::sync::Arc;
use store_orders_api::API_VERSION;

/// A function that each scrape calls to get the current value of a gauge.
pub type GaugeReader = Box<dyn Fn() -> f64 + Send + Sync>;

/// Registers the metrics. `log_buffer` is `None` in tests without a log.
///
/// `open_connections` is `None` if the system does not report the number of connections.
/// `certificate_ends_at` returns Unix seconds, and is `None` without TLS.
pub fn register(
    server: &ServerContext,
    log_buffer: Option<&LogBuffer>,
    open_connections: Option<GaugeReader>,
    certificate_ends_at: Option<GaugeReader>,
) -> prometheus::Result<()> {
    let registry = &server.metrics.registry;
    #[cfg(target_os = "linux")]
    registry.register(Box::new(super::process_metrics::ProcessMetrics::new()?))?;
    let build =
        Opts::new("store_orders_build_info", "The program that runs, and the API that it serves.");
    let build = build.const_label("version", env!("CARGO_PKG_VERSION"));
    register_int_gauge!(build.const_label("api_version", API_VERSION), registry)?.set(1);
    registry.register(Box::new(OrdersGauge::new(Arc::clone(&server.orders))?))?;
    let check = server.damage_check.clone();
    gauge(
        registry,
        "store_orders_store_damaged",
        "1 if the store was found damaged, while it was read or by the check after the start.",
        Box::new(move || check.damage().is_some().into()),
    )?;
    let batch = server.orders.running_batch().clone();
    gauge(
        registry,
        "store_orders_running_batch_age_seconds",
        "How long the running batch of cancellations has been under way.",
        Box::new(move || batch.age().unwrap_or_default().as_secs_f64()),
    )?;
    let store = Arc::clone(&server.store);
    if store.last_backup().is_some() {
        gauge(
            registry,
            "store_orders_last_backup_timestamp_seconds",
            "When the data directory was last backed up with the command backup, in Unix time; 0 if never.",
            Box::new(move || store.last_backup().unwrap_or_default()),
        )?;
    }
    let orders = Arc::clone(&server.orders);
    gauge(
        registry,
        "store_orders_outdated_list_bytes",
        "Memory that outdated lists hold while clients read them.",
        Box::new(move || orders.outdated_bytes() as f64),
    )?;
    let dropped_lines =
        log_buffer.map_or_else(log::dropped_lines_counter, |buffer| buffer.dropped_lines().clone());
    for counter in [
        server.orders.lists_cut_off().clone(),
        server.rate_limiter.bans().count.clone(),
        dropped_lines,
    ] {
        registry.register(Box::new(counter))?;
    }
    if let Some(open) = open_connections {
        let help = "Connections that are open to the listener of the API.";
        gauge(registry, "store_orders_open_connections", help, open)?;
    }
    if let Some(ends_at) = certificate_ends_at {
        let help = "When the TLS certificate in use ends, in Unix time.";
        gauge(registry, "store_orders_certificate_expiry_timestamp_seconds", help, ends_at)?;
    }
    Ok(())
}

fn gauge(
    registry: &Registry,
    name: &str,
    help: &str,
    value: GaugeReader,
) -> prometheus::Result<()> {
    registry.register(Box::new(PullingGauge::new(name, help, value)?))
}

/// The number of listed orders by status. Each scrape counts them, which takes 1 ms for a million
/// orders.
struct OrdersGauge {
    orders: Arc<OrderList>,
    gauge: IntGaugeVec,
}

impl OrdersGauge {
    fn new(orders: Arc<OrderList>) -> prometheus::Result<OrdersGauge> {
        let opts = Opts::new("store_orders_orders", "Orders that are listed.");
        Ok(OrdersGauge { orders, gauge: IntGaugeVec::new(opts, &["state"])? })
    }
}

impl Collector for OrdersGauge {
    fn desc(&self) -> Vec<&Desc> {
        self.gauge.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let (pending, shipped) = self.orders.pending_and_shipped();
        for (state, count) in [(Status::Pending, pending), (Status::Shipped, shipped)] {
            let gauge = self.gauge.with_label_values(&[state.as_str()]);
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        self.gauge.collect()
    }
}
