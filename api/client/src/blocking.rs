//! The client for programs without async code: the feature `blocking`. Its operations are
//! generated with the others.

use crate::builder::{BuildError, ClientBuilder, Versioned};
use std::fmt;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};

/// A client whose calls block until the response is there, with its waits and retries.
/// Otherwise it does what the [async client](crate::Client) does. Needs the feature
/// `blocking`.
pub type Client = Blocking<crate::Client>;

/// The client of a version, whose calls block until the response is there.
///
/// It has one thread of its own, for the connections. Cloning is cheap and shares them.
///
/// # Panics
///
/// Its calls panic in async code, as does dropping the last clone there: use the async
/// client, or `tokio::task::spawn_blocking`.
#[derive(Clone)]
pub struct Blocking<C> {
    pub(crate) client: C,
    pub(crate) runtime: Arc<Runtime>,
}

impl<C: Versioned> Blocking<C> {
    /// A client with the default time-outs and retries: see [`crate::Client::new`]. For
    /// others use the `builder` of the async client and [`ClientBuilder::build_blocking`].
    pub fn new(base_url: impl Into<String>, key: impl Into<String>) -> Result<Self, BuildError> {
        ClientBuilder::new(base_url.into(), key.into()).build_blocking()
    }
}

impl<C: Versioned> ClientBuilder<C> {
    /// Like [`build`](Self::build), for programs without async code. Needs the feature
    /// `blocking`.
    pub fn build_blocking(self) -> Result<Blocking<C>, BuildError> {
        Ok(Blocking { client: self.build()?, runtime: runtime()? })
    }
}

/// With a thread of its own, so that connections are served between calls, too.
fn runtime() -> Result<Arc<Runtime>, BuildError> {
    let mut runtime = Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).thread_name("store-orders-client").enable_all();
    Ok(Arc::new(runtime.build().map_err(|error| BuildError::Http(error.into()))?))
}

/// Shows no key.
impl<C: fmt::Debug> fmt::Debug for Blocking<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.client.fmt(f)
    }
}
