//! The gauge of how long the running batch of cancellations has been under way.

use crate::orders::RunningBatch;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use std::fmt;

/// Seconds since the running batch began, or 0 if none is under way.
#[derive(Debug)]
pub struct BatchAge(pub RunningBatch);

impl EncodeMetric for BatchAge {
    fn encode(&self, encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        let seconds = self.0.age().unwrap_or_default().as_secs_f64();
        ConstGauge::new(seconds).encode(encoder)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}
