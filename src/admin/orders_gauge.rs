//! The gauge of orders by status: those of the list.

use crate::orders::OrderList;
use crate::store::Status;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use std::fmt;
use std::sync::Arc;

/// Counts at each scrape: a millisecond for a million orders.
pub struct OrdersGauge(pub Arc<OrderList>);

impl EncodeMetric for OrdersGauge {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let (pending, shipped) = self.0.pending_and_shipped();
        [(Status::Pending, pending), (Status::Shipped, shipped)].into_iter().try_for_each(
            |(state, count)| {
                let labels = [("state", state.as_str())];
                ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX))
                    .encode(encoder.encode_family(&labels)?)
            },
        )
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}

impl fmt::Debug for OrdersGauge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrdersGauge").finish_non_exhaustive()
    }
}
