//! A counter that can be used before a metrics registry exists.

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{IntCounter, Registry};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A counter without a metric name. Clones share the count.
#[derive(Clone, Debug, Default)]
pub struct Counter(Arc<AtomicU64>);

impl Counter {
    /// Adds one.
    pub fn inc(&self) {
        self.inc_by(1);
    }

    /// Adds `count`.
    pub fn inc_by(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// Returns the count.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Registers the count as a metric of this name.
    pub fn register(&self, registry: &Registry, name: &str, help: &str) -> prometheus::Result<()> {
        let (count, exposed) = (self.clone(), IntCounter::new(name, help)?);
        registry.register(Box::new(NamedCounter { count, exposed }))
    }
}

struct NamedCounter {
    count: Counter,
    /// Set to `count` at each scrape.
    exposed: IntCounter,
}

impl Collector for NamedCounter {
    fn desc(&self) -> Vec<&Desc> {
        self.exposed.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.exposed.reset();
        self.exposed.inc_by(self.count.get());
        self.exposed.collect()
    }
}
