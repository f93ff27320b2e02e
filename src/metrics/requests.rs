//! Counts requests by route, method and status, and measures their latencies by route.

use http::{Method, StatusCode};
use prometheus::{
    Histogram, HistogramOpts, IntCounter, IntCounterVec, Registry,
    register_histogram_vec_with_registry as register_histogram_vec,
    register_int_counter_vec_with_registry as register_int_counter_vec,
};
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Routes of requests that reach no operation: `public` for the public pages, `unknown` for the
/// rest. The [`RouteId`]s of operations follow.
const OTHER_ROUTES: [&str; 2] = ["unknown", "public"];

/// The methods that dropshot routes, and `other`. Dropshot itself rejects all other methods, so
/// `other` stays 0 unless dropshot changes.
const METHODS: [&str; 10] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "other"];

/// The range of all valid status codes (RFC 9110, section 15).
const STATUSES: Range<u16> = 100..600;

/// The upper bounds of the latency histogram's buckets. A request for a short list of orders takes
/// about 11 µs, and falls into the first bucket. A request that times out after 5 s is still below
/// the last bound.
const LATENCY_BOUNDS_SECONDS: [f64; 18] = [
    0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
    0.5, 1.0, 2.5, 5.0, 10.0,
];

/// The route under which a request is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteId(usize);

impl RouteId {
    /// The route of requests with an unknown path, or with a method that the path does not support.
    pub const UNKNOWN: RouteId = RouteId(0);
    pub const PUBLIC: RouteId = RouteId(1);

    /// Returns the route of the operation at this index of the list passed to [`Requests::new`].
    pub const fn for_operation(index: usize) -> RouteId {
        RouteId(OTHER_ROUTES.len() + index)
    }
}

/// Counts the requests of each route. Clones share the counts.
#[derive(Clone, Debug)]
pub struct Requests {
    routes: Arc<[RouteMetrics]>,
    counters: IntCounterVec,
}

#[derive(Debug)]
struct RouteMetrics {
    /// The `operationId` of the route's operation, or one of [`OTHER_ROUTES`].
    name: String,
    /// The counters by method, then by status. Each counter is created at its first request, so
    /// that unused counters are not exposed.
    counters: [OnceLock<Box<[OnceLock<IntCounter>]>>; METHODS.len()],
    latencies: Histogram,
}

impl Requests {
    /// Registers the metrics. Each name in `operations` becomes a value of the label `route`.
    pub fn new(operations: Vec<String>, registry: &Registry) -> prometheus::Result<Requests> {
        let counters = register_int_counter_vec!(
            "store_orders_requests_total",
            "Requests that were answered, or abandoned by their client (499).",
            &["route", "method", "status"],
            registry
        )?;
        let latencies = register_histogram_vec!(
            HistogramOpts::new(
                "store_orders_request_latency_seconds",
                "From a request's arrival to the first byte of its answer."
            )
            .buckets(LATENCY_BOUNDS_SECONDS.to_vec()),
            &["route"],
            registry
        )?;
        let names = OTHER_ROUTES.into_iter().map(ToString::to_string).chain(operations);
        let routes = names.map(|name| RouteMetrics {
            latencies: latencies.with_label_values(&[&name]),
            name,
            counters: METHODS.map(|_| OnceLock::new()),
        });
        Ok(Requests { routes: routes.collect(), counters })
    }

    /// Counts a request. `latency` is the time from the request's arrival until the response began
    /// or the client disconnected.
    pub fn count(&self, route: RouteId, method: &Method, status: StatusCode, latency: Duration) {
        let RouteId(index) = route;
        let Some(route) = self.routes.get(index) else { return };
        route.latencies.observe(latency.as_secs_f64());
        let last = METHODS.len() - 1;
        let index = METHODS.iter().position(|one| *one == method.as_str()).unwrap_or(last);
        let Some((method, counters)) = METHODS.get(index).zip(route.counters.get(index)) else {
            return;
        };
        let counters = counters.get_or_init(|| STATUSES.map(|_| OnceLock::new()).collect());
        let offset = usize::from(status.as_u16().saturating_sub(STATUSES.start));
        if let Some(counter) = counters.get(offset) {
            let labels = [&*route.name, *method, status.as_str()];
            counter.get_or_init(|| self.counters.with_label_values(&labels)).inc();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus::TextEncoder;

    #[test]
    fn clients_cannot_create_labels() {
        let registry = Registry::new();
        let requests = Requests::new(vec!["listOrders".to_string()], &registry).unwrap();
        let (route, latency) = (RouteId::for_operation(0), Duration::from_micros(11));
        let purge = Method::from_bytes(b"PURGE").unwrap();
        requests.count(route, &Method::GET, StatusCode::OK, latency);
        requests.count(route, &Method::GET, StatusCode::OK, latency);
        requests.count(RouteId::UNKNOWN, &purge, StatusCode::IM_A_TEAPOT, latency);
        let text = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
        let samples: Vec<_> =
            text.lines().filter(|line| line.starts_with("store_orders_requests_total{")).collect();
        assert_eq!(
            samples,
            [
                r#"store_orders_requests_total{method="GET",route="listOrders",status="200"} 2"#,
                r#"store_orders_requests_total{method="other",route="unknown",status="418"} 1"#,
            ]
        );
        let counts = requests.routes.iter().map(|route| route.latencies.get_sample_count());
        assert_eq!(counts.collect::<Vec<_>>(), [1, 0, 2]);
    }
}
