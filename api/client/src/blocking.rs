//! The client for programs without async code: the feature `blocking`. Its operations stand with
//! the others.

use crate::builder::{BuildError, ClientBuilder};
use std::fmt;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};

/// A client whose calls block until the response is there, with its waits and retries.
/// Otherwise it does what the [async client](crate::Client) does. Needs the feature
/// `blocking`.
///
/// It has one thread of its own, for the connections. Cloning is cheap and shares them.
///
/// ```
/// # #[cfg(feature = "testing")] {
/// use store_orders_client::{Order, blocking, testing};
///
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let server = testing::Server::start([Order::new(1042, 7, 2)])?;
/// let client = blocking::Client::new(server.base_url(), testing::KEY)?;
/// for order in client.list_orders()? {
///     println!("order {} is for pet {}", order.id, order.pet_id);
/// }
/// client.cancel_order(1042)?;
/// # Ok(())
/// # }
/// # example().unwrap();
/// # }
/// ```
///
/// # Panics
///
/// Its calls panic in async code, as does dropping the last clone there: use the async
/// client, or `tokio::task::spawn_blocking`.
#[derive(Clone)]
pub struct Client {
    pub(crate) client: crate::Client,
    pub(crate) runtime: Arc<Runtime>,
}

impl Client {
    /// A client with the default time-outs and retries: see [`crate::Client::new`]. For
    /// others use [`crate::Client::builder`] and [`ClientBuilder::build_blocking`].
    pub fn new(base_url: impl Into<String>, key: impl Into<String>) -> Result<Self, BuildError> {
        crate::Client::builder(base_url, key).build_blocking()
    }
}

impl ClientBuilder {
    /// Like [`build`](Self::build), for programs without async code. Needs the feature
    /// `blocking`.
    pub fn build_blocking(self) -> Result<Client, BuildError> {
        Ok(Client { client: self.build()?, runtime: runtime()? })
    }
}

/// With a thread of its own, so that connections are served between calls, too.
pub(crate) fn runtime() -> Result<Arc<Runtime>, BuildError> {
    let mut runtime = Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).thread_name("store-orders-client").enable_all();
    Ok(Arc::new(runtime.build().map_err(|error| BuildError::Http(error.into()))?))
}

/// Shows no key.
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.client.fmt(f)
    }
}
