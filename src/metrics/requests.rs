//! Requests by route, method and status, and their latencies by route.

use super::{FixedFamily, Histogram};
use http::{Method, StatusCode};
use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The routes of requests that reach no operation; they come first.
const OTHER_ROUTES: [&str; 2] = ["unknown", "public"];

/// The methods that dropshot routes. It rejects any other by itself, so `other`
/// stays 0 unless that changes.
const METHODS: [&str; 10] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "other"];

/// A response has one of these statuses (RFC 9110, 15).
const STATUSES: Range<u16> = 100..600;

/// Upper bounds of the latencies: from a short list, which takes about 11 µs, to
/// what no client waits for.
const LATENCY_BOUNDS_MICROSECONDS: [u64; 18] = [
    25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000, 10_000_000,
];

/// Where a request is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteId(usize);

impl RouteId {
    /// An unknown path, or a method that its path does not take.
    pub const UNKNOWN: RouteId = RouteId(0);
    /// A public page.
    pub const PUBLIC: RouteId = RouteId(1);
}

/// Counts requests, encoded as a counter of every combination that has occurred.
/// Clones share the counts.
#[derive(Clone, Debug)]
pub struct Requests {
    routes: Arc<[Route]>,
    /// By route.
    pub latencies: FixedFamily<[(&'static str, String); 1], Histogram>,
}

#[derive(Debug)]
struct Route {
    /// `operationId`, `public` or `unknown`.
    name: String,
    /// By method, then by status.
    counts: [Box<[AtomicU64]>; METHODS.len()],
}

impl Requests {
    /// All counts at 0, with a route for each of these operations.
    pub fn new(operations: Vec<String>) -> Requests {
        let names = OTHER_ROUTES.into_iter().map(ToString::to_string).chain(operations);
        let zeros = |_: &str| STATUSES.map(|_| AtomicU64::new(0)).collect();
        let routes: Arc<[Route]> =
            names.map(|name| Route { name, counts: METHODS.map(zeros) }).collect();
        let latency = |route: &Route| {
            let histogram = Histogram::of_microseconds(&LATENCY_BOUNDS_MICROSECONDS);
            ([("route", route.name.clone())], histogram)
        };
        Requests { latencies: routes.iter().map(latency).collect(), routes }
    }

    /// The route of an operation.
    pub fn route(&self, operation: &str) -> RouteId {
        let mut operations = self.routes.iter().enumerate().skip(OTHER_ROUTES.len());
        let found = operations.find(|(_, route)| route.name == operation);
        found.map_or(RouteId::UNKNOWN, |(index, _)| RouteId(index))
    }

    /// Counts a request whose response began after this latency.
    pub fn count(&self, route: RouteId, method: &Method, status: StatusCode, latency: Duration) {
        let RouteId(index) = route;
        let last = METHODS.len() - 1;
        let method = METHODS.iter().position(|one| *one == method.as_str()).unwrap_or(last);
        let status = usize::from(status.as_u16().saturating_sub(STATUSES.start));
        let counts = self.routes.get(index).and_then(|route| route.counts.get(method));
        if let Some(count) = counts.and_then(|counts| counts.get(status)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(latencies) = self.latencies.get(index) {
            latencies.observe(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX));
        }
    }
}

impl EncodeMetric for Requests {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        for route in self.routes.iter() {
            for (method, counts) in METHODS.iter().zip(&route.counts) {
                for (status, count) in STATUSES.zip(counts.iter()) {
                    let count = count.load(Ordering::Relaxed);
                    if count > 0 {
                        let status = status.to_string();
                        let labels = [
                            ("route", route.name.as_str()),
                            ("method", method),
                            ("status", status.as_str()),
                        ];
                        ConstCounter::new(count).encode(encoder.encode_family(&labels)?)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Counter
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::registry::Registry;

    #[test]
    fn no_label_is_chosen_by_a_client() {
        let requests = Requests::new(vec!["listOrders".to_string()]);
        assert_eq!(requests.route("public"), RouteId::UNKNOWN);
        let (route, latency) = (requests.route("listOrders"), Duration::from_micros(11));
        let purge = Method::from_bytes(b"PURGE").unwrap();
        requests.count(route, &Method::GET, StatusCode::OK, latency);
        requests.count(route, &Method::GET, StatusCode::OK, latency);
        requests.count(RouteId::UNKNOWN, &purge, StatusCode::IM_A_TEAPOT, latency);
        let mut registry = Registry::default();
        registry.register("requests", "Requests", requests.clone());
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        let samples: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            samples,
            [
                r#"requests_total{route="unknown",method="other",status="418"} 1"#,
                r#"requests_total{route="listOrders",method="GET",status="200"} 2"#,
            ]
        );
        let sums = [0, 1, 2].map(|route| requests.latencies.get(route).unwrap().sum());
        assert_eq!(sums, [11, 0, 22]);
    }
}
