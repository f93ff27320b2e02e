//! Counts requests while the session's lease is valid.

use super::state::SessionState;
use crate::rate_limiter::{Decision, KeyedRequest};
use crate::store::StoreError;
use crate::store::postgres::connecting::Connection;
use crate::store::postgres::error::engine_error;
use crate::store::postgres::rate_limiter::{Admission, remove_expired};
use crate::store::postgres::timeouts::COUNT_LIMIT;
use std::sync::Arc;
use tokio_postgres::Error;

pub struct Counter {
    connection: Arc<Connection>,
    admission: Admission,
    state: Arc<SessionState>,
}

impl Counter {
    pub async fn prepare(
        connection: Arc<Connection>,
        state: Arc<SessionState>,
    ) -> Result<Counter, Error> {
        let admission = Admission::prepare(&connection.client).await?;
        Ok(Counter { connection, admission, state })
    }

    /// Counts these requests, and decides whether to admit each request. After an error, the caller
    /// must not send the requests again, because PostgreSQL may have counted them.
    pub async fn count(&self, requests: &[KeyedRequest]) -> Result<Vec<Decision>, StoreError> {
        // Check the lease before counting, because without a valid lease, the requests would be
        // counted and then refused.
        self.state.require_lease()?;
        let counted = async {
            let decisions = self.admission.run(&self.connection.client, requests).await;
            decisions.map_err(engine_error("counted"))
        };
        let decisions = self.state.answer(COUNT_LIMIT, counted).await?;
        // Check the lease again, because the primary may have been replaced before it answered.
        self.state.require_lease().map(|()| decisions)
    }

    pub async fn remove_expired(&self) {
        // An error ends this loop; the next call tries again.
        while let Ok(true) = remove_expired(&self.connection.client).await {}
    }
}
