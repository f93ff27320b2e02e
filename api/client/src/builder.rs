//! Builds a client from a base URL, a key and options. Sends nothing.

use crate::attempt::{Attempt, Observer};
use crate::call::Call;
use crate::generated::{VERSIONS, version_paths};
use crate::retry::RetryPolicy;
use crate::v1::Client;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The default read timeout: twice the maximum response time of the service. Without a timeout, an
/// attempt would never end if hyper loses the request (`api/UPSTREAM.md`).
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// The reason why [`ClientBuilder::build`] failed. Messages do not contain the key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The base URL is not accepted. The message says why.
    #[error("the base URL {0}")]
    BaseUrl(&'static str),
    /// The key is empty or contains characters that no key has. Spaces and line breaks around the
    /// key are ignored.
    #[error("the API key is empty or contains characters that no key has")]
    Key,
    /// The HTTP client could not be set up, for example because of its TLS settings.
    #[error("the HTTP client could not be set up")]
    Http(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Client {
    /// Builds a client with the default timeouts and [`RetryPolicy`].
    ///
    /// `base_url` may have a path and may end in a version, as in `https://example.com/store/v2`.
    /// The client ignores this version. It calls version 1, and the client from [`v2`](Self::v2)
    /// calls version 2.
    ///
    /// `key` is an API key from the operator of the service. It consists of `sto_live_` or
    /// `sto_test_`, followed by 36 letters and digits.
    ///
    /// Fails if the base URL or the key is not accepted, or if the HTTP client cannot be set up.
    /// See [`BuildError`]. Sends nothing.
    pub fn new(base_url: impl Into<String>, key: impl Into<String>) -> Result<Self, BuildError> {
        Self::builder(base_url, key).build()
    }

    /// Like [`new`](Self::new), but returns a builder, on which you can set options before you call
    /// [`build`](ClientBuilder::build).
    pub fn builder(base_url: impl Into<String>, key: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(base_url.into(), key.into())
    }
}

/// Builds a [`Client`] with options. Created by [`Client::builder`].
#[must_use = "call `build` to get a client"]
pub struct ClientBuilder {
    base_url: String,
    key: String,
    retry: RetryPolicy,
    observer: Observer,
    connect_timeout: Duration,
    read_timeout: Duration,
    call_timeout: Option<Duration>,
    max_in_flight: Option<usize>,
    http: Option<reqwest::ClientBuilder>,
}

impl ClientBuilder {
    pub(crate) fn new(base_url: String, key: String) -> Self {
        Self {
            base_url,
            key,
            retry: RetryPolicy::default(),
            observer: Observer::default(),
            connect_timeout: CONNECT_TIMEOUT,
            read_timeout: READ_TIMEOUT,
            call_timeout: None,
            max_in_flight: None,
            http: None,
        }
    }

    /// Sets when a request is retried, and how long a call waits for the rate limit. Replaces the
    /// default [`RetryPolicy`].
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// Sends every request once, without waiting for the rate limit. A 429, a 503 or a lost
    /// connection then fails the call.
    pub fn without_retries(self) -> Self {
        self.retry(RetryPolicy::never())
    }

    /// Calls `observer` after every attempt to send a request, for logs or metrics. The [`Attempt`]
    /// has the outcome and the wait that follows.
    ///
    /// The observer runs before the wait, on the task of the call, so it must not block.
    ///
    /// ```
    /// # use store_orders_client::{Client, BuildError};
    /// # fn example(key: String) -> Result<Client, BuildError> {
    /// Client::builder("https://orders.example.com/v1", key)
    ///     .on_attempt(|attempt| {
    ///         if attempt.wait.is_some() {
    ///             // list_orders, attempt 1: 503 Service Unavailable (request id …);
    ///             // next attempt in 2.0s
    ///             eprintln!("{attempt}");
    ///         }
    ///     })
    ///     .build()
    /// # }
    /// # example("sto_test_x".to_string()).unwrap();
    /// ```
    pub fn on_attempt(mut self, observer: impl Fn(&Attempt<'_>) + Send + Sync + 'static) -> Self {
        self.observer = Observer::new(observer);
        self
    }

    /// Sets the time limit for opening a connection, by default 5 seconds. The limit is never more
    /// than nine tenths of the [`read_timeout`](Self::read_timeout).
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the maximum time without data from the server, by default 10 seconds. The service
    /// responds within 5 seconds. Each part of a response restarts the time, so a long list may
    /// take longer than this maximum.
    pub fn read_timeout(mut self, timeout: Duration) -> Self {
        self.read_timeout = timeout;
        self
    }

    /// Limits the whole call, with its waits, its retries and the body of its response. There is no
    /// limit by default. An expired call fails with [`CallTimeout`](crate::ErrorKind::CallTimeout),
    /// whose message says what the call was doing.
    ///
    /// A call fails immediately if its next wait is known to end after this limit. If the wait
    /// precedes a retry, the error is that of the last attempt. If the call waits for the rate
    /// limit, the error is [`RateLimit`](crate::ErrorKind::RateLimit).
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = Some(timeout);
        self
    }

    /// Limits the number of concurrent calls to `calls`, or to 1 if `calls` is 0. There is no limit
    /// by default. The client, its clones and their [`v2`](Client::v2) clients share this limit.
    ///
    /// A call counts toward the limit until its response has ended, even while the call waits for
    /// the rate limit or a retry. Above the limit, a call waits until another call ends, or until
    /// its own [`call_timeout`](Self::call_timeout) expires. [`RetryPolicy::total`] does not
    /// include this wait.
    pub fn max_in_flight(mut self, calls: usize) -> Self {
        self.max_in_flight = Some(calls);
        self
    }

    /// Replaces the default HTTP client, for example to use a proxy or a private certificate
    /// authority. This crate adds the key, replaces the connect timeout and the read timeout, and
    /// turns off redirects.
    ///
    /// Your HTTP client sends a `User-Agent` only if you set
    /// [`user_agent`](reqwest::ClientBuilder::user_agent). The default HTTP client sends
    /// `store-orders-client/VERSION`.
    pub fn http(mut self, http: reqwest::ClientBuilder) -> Self {
        self.http = Some(http);
        self
    }

    /// Builds the client without sending a request. Fails if the base URL or the key is invalid, or
    /// if the HTTP client cannot be set up.
    pub fn build(self) -> Result<Client, BuildError> {
        let root = parse_root(&self.base_url)?;
        let authorization = authorization_header(&self.key)?;
        let user_agent = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));
        let mut http = self
            .http
            .unwrap_or_else(|| reqwest::Client::builder().user_agent(user_agent))
            .default_headers(HeaderMap::from_iter([(AUTHORIZATION, authorization)]))
            // The read timeout starts before the connection opens, so the connect timeout must
            // expire first. Otherwise, a request that was never sent would look as if the server
            // may have executed it.
            .connect_timeout(self.connect_timeout.min(self.read_timeout / 10 * 9))
            .read_timeout(self.read_timeout)
            // The API never redirects, and no other host may see the key.
            .redirect(reqwest::redirect::Policy::none());
        if self.retry.is_never() {
            // By default, reqwest itself retries requests that the server refused over HTTP/2.
            http = http.retry(reqwest::retry::never());
        }
        let http = http.build().map_err(|error| BuildError::Http(error.into()))?;
        let max_in_flight = self.max_in_flight.map(|calls| calls.clamp(1, Semaphore::MAX_PERMITS));
        let mut call = Call::new(self.retry, self.observer);
        call.timeout = self.call_timeout;
        call.permits = max_in_flight.map(|calls| Arc::new(Semaphore::new(calls)));
        Ok(Client::from_parts(&root, http, call))
    }
}

/// Omits the key and the base URL, because a base URL may contain a password.
impl std::fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("retry", &self.retry)
            .field("observer", &self.observer)
            .field("connect_timeout", &self.connect_timeout)
            .field("read_timeout", &self.read_timeout)
            .field("call_timeout", &self.call_timeout)
            .field("max_in_flight", &self.max_in_flight)
            .finish_non_exhaustive()
    }
}

/// Checks the base URL. Returns the URL without the version and without slashes at the end.
fn parse_root(text: &str) -> Result<String, BuildError> {
    let url = Url::parse(text).map_err(|_| BuildError::BaseUrl("is not a URL"))?;
    let path = url.path().trim_end_matches('/');
    let (parent, last) = path.rsplit_once('/').unwrap_or(("", path));
    let before = if VERSIONS.contains(&last) { parent } else { path };
    let fault = if !matches!(url.scheme(), "http" | "https") {
        "must begin with https:// or http://"
    } else if !url.username().is_empty() || url.password().is_some() {
        "must not contain a user name or password: pass the key separately"
    } else if url.query().is_some() || url.fragment().is_some() {
        "must end with its path: no query and no fragment"
    } else if before.split('/').any(|segment| VERSIONS.contains(&segment)) {
        "must end with the version: no path after it"
    } else if before.rsplit('/').next().is_some_and(is_version) {
        concat!(
            "ends in a version that this client does not speak: leave it out, or write ",
            version_paths!()
        )
    } else {
        let text = text.trim().trim_end_matches('/');
        return Ok(text.strip_suffix(&path[before.len()..]).unwrap_or(text).to_string());
    };
    Err(BuildError::BaseUrl(fault))
}

fn is_version(segment: &str) -> bool {
    let number = segment.strip_prefix('v');
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Returns `Bearer <key>`, marked as sensitive so that `Debug` output hides it.
fn authorization_header(key: &str) -> Result<HeaderValue, BuildError> {
    let key = key.trim();
    if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(BuildError::Key);
    }
    let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| BuildError::Key)?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_are_checked() {
        let root = |url: &str| parse_root(url).map_err(|error| error.to_string());
        for (url, expected) in [
            ("https://o.example/v1", "https://o.example"),
            ("https://o.example/v2", "https://o.example"),
            ("https://o.example/v1//", "https://o.example"),
            ("https://o.example", "https://o.example"),
            ("https://o.example/", "https://o.example"),
            ("http://[::1]:80/v1/", "http://[::1]:80"),
            ("https://h/pets/v1", "https://h/pets"),
            ("https://h/pets", "https://h/pets"),
            ("https://v1", "https://v1"),
            ("https://h/xv1", "https://h/xv1"),
        ] {
            assert_eq!(root(url).unwrap(), expected, "{url}");
        }
        for wrong in [
            "",
            "orders.example/v1",
            "ftp://orders.example/v1",
            "https://me:secret@orders.example/v1",
            "https://orders.example/v1?key=secret",
            "https://orders.example/v1#x",
            "https://orders.example/v99",
            "https://orders.example/v1/v2/",
            "https://orders.example/v1/v1",
            "https://orders.example/v1/store/orders",
        ] {
            let message = root(wrong).unwrap_err();
            assert!(!message.contains("secret"), "{message}");
        }
        let message = root("https://orders.example/v99").unwrap_err();
        assert!(message.contains("leave it out, or write /v1 or /v2"), "{message}");
    }

    #[test]
    fn invalid_keys_are_rejected_and_not_shown() {
        for wrong in ["", "  ", "sto_live_\nX: y", "sto live", "sto_lïve"] {
            let error = Client::new("https://orders.example/v1", wrong).unwrap_err();
            assert!(matches!(error, BuildError::Key));
            assert!(!error.to_string().contains("sto"));
        }
        // Keys from files often end with a line break.
        assert!(authorization_header("sto_live_x\n").is_ok());
    }
}
