//! A metric family whose label sets are all known when it is made.
//!
//! `prometheus_client`'s own `Family` finds each metric by a hash look-up under a
//! lock, and encodes them in random order.

use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::{MetricType, TypedMetric};
use std::fmt;
use std::sync::Arc;

/// Metrics in a fixed order, each with its labels. Clones share the metrics.
#[derive(Clone, Debug)]
pub struct FixedFamily<S, M>(Arc<[(S, M)]>);

impl<S, M> FixedFamily<S, M> {
    /// The metric at this index.
    pub fn get(&self, index: usize) -> Option<&M> {
        self.0.get(index).map(|(_, metric)| metric)
    }
}

impl<S, M> FromIterator<(S, M)> for FixedFamily<S, M> {
    fn from_iter<I: IntoIterator<Item = (S, M)>>(metrics: I) -> Self {
        FixedFamily(metrics.into_iter().collect())
    }
}

impl<S: EncodeLabelSet, M: EncodeMetric + TypedMetric> EncodeMetric for FixedFamily<S, M> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(labels, metric)| metric.encode(encoder.encode_family(labels)?))
    }

    fn metric_type(&self) -> MetricType {
        M::TYPE
    }
}
