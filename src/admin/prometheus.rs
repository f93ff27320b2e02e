//! The metrics as Prometheus reads them: in the text format of OpenMetrics.

use crate::context::ServerContext;
use crate::log::LogBuffer;
use crate::metrics::Histogram;
use crate::store::{OrderCounts, Status};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::{Registry, Unit};
use std::fmt;
use std::sync::Arc;
use store_orders_api::document::API_VERSION;

/// What the text is, for the `Content-Type` header.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Microseconds in a second.
const MICROSECONDS: f64 = 1e6;

/// Everything there is to tell at one moment.
pub struct Exposition<'a> {
    /// The server.
    pub server: &'a Arc<ServerContext>,
    /// Whose lines may be lost; none if nothing is logged.
    pub log_buffer: Option<&'a Arc<LogBuffer>>,
    /// Orders by state, if they are known.
    pub orders: Option<OrderCounts>,
}

impl Exposition<'_> {
    /// The text.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let mut registry = Registry::with_prefix("store_orders");
        registry.register(
            "build",
            "The program that runs, and the API that it serves",
            Info::new([("version", env!("CARGO_PKG_VERSION")), ("api_version", API_VERSION)]),
        );
        registry.register_collector(Box::new(Counts {
            server: Arc::clone(self.server),
            lost_lines: self.log_buffer.map_or(0, |buffer| buffer.dropped()),
            orders: self.orders,
        }));
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry)?;
        Ok(text)
    }
}

struct Counts {
    server: Arc<ServerContext>,
    lost_lines: u64,
    orders: Option<OrderCounts>,
}

impl fmt::Debug for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counts").finish_non_exhaustive()
    }
}

impl Collector for Counts {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let encoder = &mut encoder;
        self.requests(encoder)?;
        self.latencies(encoder)?;
        self.refusals(encoder)?;
        self.orders(encoder)?;
        let help = "Cancellations that one transaction carried out";
        let mut batches =
            encoder.encode_descriptor("commit_batch_size", help, None, MetricType::Histogram)?;
        encode_histogram(&mut batches, &self.server.metrics.batches, 1.0)?;
        let bans = self.server.limits.bans();
        one_counter(encoder, "bans", "Bans of keys that have begun", bans)?;
        let help = "Lines that could not be written to the log";
        one_counter(encoder, "log_lines_dropped", help, self.lost_lines)
    }
}

impl Counts {
    fn requests(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Requests that were answered";
        family(encoder, "requests", help, |each| {
            self.server.metrics.requests.all().try_for_each(|answered| {
                let status = match answered.status {
                    0 => "other".to_string(),
                    status => status.to_string(),
                };
                let labels = [
                    ("route", answered.route),
                    ("method", answered.method),
                    ("status", status.as_str()),
                ];
                each(&labels, ConstCounter::new(answered.count))
            })
        })
    }

    fn latencies(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "From a request's arrival to the first byte of its answer";
        let unit = Some(&Unit::Seconds);
        let mut encoder =
            encoder.encode_descriptor("request_latency", help, unit, MetricType::Histogram)?;
        self.server.metrics.requests.latencies().try_for_each(|(route, latencies)| {
            let labels = [("route", route)];
            let mut encoder = encoder.encode_family(&labels)?;
            encode_histogram(&mut encoder, latencies, MICROSECONDS)
        })
    }

    fn refusals(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let refusals = &self.server.metrics.refusals;
        let help = "Requests refused because a window was exhausted; \
            without a valid key the plan is none";
        family(encoder, "limited_requests", help, |each| {
            refusals.all().try_for_each(|refused| {
                let labels = |window| [("plan", refused.plan), ("window", window)];
                each(&labels("minute"), ConstCounter::new(refused.minute))?;
                each(&labels("day"), ConstCounter::new(refused.day))
            })
        })?;
        let help = "Requests refused because their key was banned";
        family(encoder, "banned_requests", help, |each| {
            let keyed = refusals.all().filter(|refused| refused.plan != "none");
            keyed.into_iter().try_for_each(|refused| {
                each(&[("plan", refused.plan)], ConstCounter::new(refused.banned))
            })
        })
    }

    fn orders(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Some(counts) = self.orders else { return Ok(()) };
        let states = [
            (Status::Pending, counts.pending),
            (Status::Shipped, counts.shipped),
            (Status::Cancelled, counts.cancelled),
        ];
        family(encoder, "orders", "Orders in the store", |each| {
            states.into_iter().try_for_each(|(state, count)| {
                each(&[("state", state.as_str())], ConstGauge::new(count))
            })
        })
    }
}

/// Several of one name, told apart by their labels.
fn family<M, const LABELS: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    all: impl FnOnce(&mut dyn FnMut(&[(&str, &str); LABELS], M) -> fmt::Result) -> fmt::Result,
) -> fmt::Result
where
    M: EncodeMetric + TypedMetric,
{
    let mut encoder = encoder.encode_descriptor(name, help, None, M::TYPE)?;
    all(&mut |labels, metric| metric.encode(encoder.encode_family(labels)?))
}

fn one_counter(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    count: u64,
) -> fmt::Result {
    let counter = ConstCounter::new(count);
    counter.encode(encoder.encode_descriptor(name, help, None, counter.metric_type())?)
}

/// `unit` is how many of the histogram's units make one of the metric's.
fn encode_histogram(
    encoder: &mut prometheus_client::encoding::MetricEncoder<'_>,
    histogram: &Histogram,
    unit: f64,
) -> fmt::Result {
    let sum = histogram.sum() as f64 / unit;
    let buckets: Vec<(f64, u64)> = histogram
        .counts()
        .map(|(bound, count)| (bound.map_or(f64::INFINITY, |bound| bound as f64 / unit), count))
        .collect();
    let count = buckets.iter().map(|(_, count)| count).sum();
    encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
}
