//! Requests by route, method and status, and how long their answers took.

use super::Histogram;
use http::{Method, StatusCode};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Routes that are no operations come first.
const BESIDE: [&str; 2] = ["unknown", "public"];

/// The methods that dropshot routes. What is none of them it answers itself, so
/// that `other` counts only if that should change.
const METHODS: [&str; 10] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "other"];

/// The statuses of the contract. 0 stands for any other.
const STATUSES: [u16; 11] = [200, 204, 400, 401, 404, 405, 409, 429, 500, 503, 0];

/// Upper bounds of the latencies that are told apart, in microseconds: from a
/// short list, which takes about 11, to what a client has long given up.
const MICROSECONDS: [u64; 18] = [
    25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000, 10_000_000,
];

/// Where a request is counted: at an operation of the contract, at the public
/// pages, or at what the contract does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteId(usize);

impl RouteId {
    /// No operation: an unknown path, or a method that its path does not take.
    pub const UNKNOWN: RouteId = RouteId(0);
    /// A public page.
    pub const PUBLIC: RouteId = RouteId(1);
}

/// The requests that were answered.
#[derive(Debug)]
pub struct Requests {
    routes: Vec<Route>,
}

#[derive(Debug)]
struct Route {
    name: String,
    counts: [[AtomicU64; STATUSES.len()]; METHODS.len()],
    latency: Histogram,
}

/// How often one route was answered so to one method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered<'a> {
    /// `operationId`, `public` or `unknown`.
    pub route: &'a str,
    /// In capitals, or `other`.
    pub method: &'static str,
    /// 0 if none of the contract.
    pub status: u16,
    /// How often.
    pub count: u64,
}

impl Requests {
    /// Nothing counted yet, of these operations.
    pub fn new(operations: Vec<String>) -> Requests {
        let names = BESIDE.into_iter().map(ToString::to_string).chain(operations);
        let route = |name| Route {
            name,
            counts: Default::default(),
            latency: Histogram::new(&MICROSECONDS),
        };
        Requests { routes: names.map(route).collect() }
    }

    /// Where an operation is counted.
    pub fn route(&self, operation: &str) -> RouteId {
        let place = self.routes.iter().skip(BESIDE.len()).position(|route| route.name == operation);
        place.map_or(RouteId::UNKNOWN, |place| RouteId(place + BESIDE.len()))
    }

    /// Counts a request whose answer began after so long.
    pub fn count(&self, route: RouteId, method: &Method, status: StatusCode, latency: Duration) {
        let Some(route) = self.routes.get(route.0) else { return };
        let method = place_or_last(&METHODS, &method.as_str());
        let status = place_or_last(&STATUSES, &status.as_u16());
        if let Some(count) = route.counts.get(method).and_then(|counts| counts.get(status)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        route.latency.count(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX));
    }

    /// Every count that is not 0.
    pub fn all(&self) -> impl Iterator<Item = Answered<'_>> {
        self.routes.iter().flat_map(|route| {
            METHODS.into_iter().zip(&route.counts).flat_map(move |(method, counts)| {
                STATUSES.into_iter().zip(counts).filter_map(move |(status, count)| {
                    let count = count.load(Ordering::Relaxed);
                    (count > 0).then_some(Answered { route: &route.name, method, status, count })
                })
            })
        })
    }

    /// The latencies of every route, in microseconds.
    pub fn latencies(&self) -> impl Iterator<Item = (&str, &Histogram)> {
        self.routes.iter().map(|route| (route.name.as_str(), &route.latency))
    }
}

fn place_or_last<T: PartialEq>(places: &[T], what: &T) -> usize {
    places.iter().position(|place| place == what).unwrap_or(places.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_caller_names_a_place() {
        let requests = Requests::new(vec!["listOrders".to_string()]);
        assert_eq!(requests.route("public"), RouteId::UNKNOWN);
        let (route, latency) = (requests.route("listOrders"), Duration::from_micros(11));
        let purge = Method::from_bytes(b"PURGE").unwrap();
        requests.count(route, &Method::GET, StatusCode::OK, latency);
        requests.count(route, &Method::GET, StatusCode::OK, latency);
        requests.count(RouteId::UNKNOWN, &purge, StatusCode::IM_A_TEAPOT, latency);
        let answered = |route, method, status, count| Answered { route, method, status, count };
        assert_eq!(
            requests.all().collect::<Vec<_>>(),
            [answered("unknown", "other", 0, 1), answered("listOrders", "GET", 200, 2)]
        );
        let sums: Vec<_> = requests.latencies().map(|(route, some)| (route, some.sum())).collect();
        assert_eq!(sums, [("unknown", 11), ("public", 0), ("listOrders", 22)]);
    }
}
