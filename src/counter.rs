//! Creates counters before a metrics registry exists.

use prometheus::IntCounter;

/// Creates a counter. A clone can be registered as a metric later, because clones share the count.
#[expect(clippy::expect_used, reason = "each caller passes the constant name of a metric")]
pub fn counter(name: &'static str, help: &'static str) -> IntCounter {
    IntCounter::new(name, help).expect("the name of the metric is valid")
}
