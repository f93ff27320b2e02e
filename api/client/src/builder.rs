//! Makes a client from a base URL, a key and options. It sends nothing.

use crate::Client;
use crate::attempt::{Attempt, Observer};
use crate::call::Call;
use crate::retry::RetryPolicy;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Twice as long as the service takes at most. It also ends the wait for a connection that was
/// closed as it opened, which hyper may not notice (`api/UPSTREAM.md`).
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// The versions of the API that the client speaks, as a base URL may end in them.
const VERSIONS: [&str; 2] = ["v1", "v2"];

/// Why a client could not be made. No message holds the key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Requests cannot be sent to the base URL.
    #[error("the base URL {0}")]
    BaseUrl(&'static str),
    /// The key cannot be sent in a header.
    #[error("the API key is empty or contains characters that no key has")]
    Key,
    /// The HTTP client could not be set up, for example its TLS.
    #[error("the HTTP client could not be set up")]
    Http(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Options of a client. From [`Client::builder`].
#[must_use = "nothing is made before `build`"]
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

    /// Replaces the default [`RetryPolicy`].
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// Sends every request once and at once: 429, 503 and lost connections are returned as
    /// errors, and no call waits for the rate limit.
    pub fn without_retries(self) -> Self {
        self.retry(RetryPolicy::never())
    }

    /// Tells `observer` of every attempt to send a request, with its outcome and
    /// the wait that follows it, for a log or metrics.
    ///
    /// It is called before the wait, on the task of the call, so it must not
    /// block.
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

    /// How long a connection may take to open: 5 seconds by default, and at most nine tenths of
    /// [`read_timeout`](Self::read_timeout), which runs meanwhile.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How long the server may be silent: 10 seconds by default, because the service
    /// answers within 5. Every part of a response that arrives restarts it, so a long
    /// list can take longer.
    pub fn read_timeout(mut self, timeout: Duration) -> Self {
        self.read_timeout = timeout;
        self
    }

    /// How long a call may take as a whole, with its waits, its retries and the body of its
    /// response: as long as these take, unless set. The error then is of the kind
    /// [`CallTimeout`](crate::ErrorKind::CallTimeout), and tells how far the call had come. A retry
    /// or a wait for the rate limit that would end later is not begun.
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = Some(timeout);
        self
    }

    /// How many calls of the client and its clones may be under way at once, from their first
    /// attempt to the end of their responses, waits included; at least 1. Others wait until one has
    /// ended, for as long as [`call_timeout`](Self::call_timeout) allows; the time of the
    /// [`RetryPolicy`] begins afterwards. Without it as many are under way as the program makes.
    pub fn max_in_flight(mut self, calls: usize) -> Self {
        self.max_in_flight = Some(calls);
        self
    }

    /// The HTTP client to start from, for example with a proxy or a private
    /// certificate authority. Key, time-outs and redirects are overridden. `User-Agent` is
    /// not, because reqwest does not tell whether it is set: without
    /// [`user_agent`](reqwest::ClientBuilder::user_agent) none is sent. Otherwise it is
    /// `store-orders-client/VERSION`.
    pub fn http(mut self, http: reqwest::ClientBuilder) -> Self {
        self.http = Some(http);
        self
    }

    /// Makes the client, if base URL and key are valid. It sends nothing.
    pub fn build(self) -> Result<Client, BuildError> {
        let root = checked_root(&self.base_url)?;
        let authorization = authorization(&self.key)?;
        let user_agent = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));
        let mut http = self
            .http
            .unwrap_or_else(|| reqwest::Client::builder().user_agent(user_agent))
            .default_headers(HeaderMap::from_iter([(AUTHORIZATION, authorization)]))
            // The other begins first: if it ended first, a request that was never sent would be
            // taken for one that may have been carried out.
            .connect_timeout(self.connect_timeout.min(self.read_timeout / 10 * 9))
            .read_timeout(self.read_timeout)
            // The API never redirects, and no other host may see the key.
            .redirect(reqwest::redirect::Policy::none());
        if self.retry.is_never() {
            // Reqwest itself repeats what HTTP/2 refused, which is a retry too.
            http = http.retry(reqwest::retry::never());
        }
        let http = http.build().map_err(|error| BuildError::Http(error.into()))?;
        let places = self.max_in_flight.map(|calls| calls.clamp(1, Semaphore::MAX_PERMITS));
        let mut call = Call::new(self.retry, self.observer);
        call.timeout = self.call_timeout;
        call.places = places.map(|places| Arc::new(Semaphore::new(places)));
        Ok(Client::from_parts(&root, http, call))
    }
}

/// Without the key, and the address, which may hold a password until it is checked.
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

/// The URL without the version and without a slash at its end, because paths are appended to it.
fn checked_root(text: &str) -> Result<String, BuildError> {
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
        "ends in a version that this client does not speak: leave it out, or write /v1 or /v2"
    } else {
        let text = text.trim().trim_end_matches('/');
        return Ok(text.strip_suffix(&path[before.len()..]).unwrap_or(text).to_string());
    };
    Err(BuildError::BaseUrl(fault))
}

/// True for a segment of a path that is a version such as `v3`.
fn is_version(segment: &str) -> bool {
    let number = segment.strip_prefix('v');
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|of| of.is_ascii_digit()))
}

/// `Bearer <key>`, marked as sensitive so that no `Debug` output shows it.
fn authorization(key: &str) -> Result<HeaderValue, BuildError> {
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
        let root = |url: &str| checked_root(url).map_err(|error| error.to_string());
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
            "https://orders.example/v3",
            "https://orders.example/v1/v2/",
            "https://orders.example/v1/v1",
            "https://orders.example/v1/store/orders",
        ] {
            let message = root(wrong).unwrap_err();
            assert!(!message.contains("secret"), "{message}");
        }
        let message = root("https://orders.example/v3").unwrap_err();
        assert!(message.contains("leave it out, or write /v1 or /v2"), "{message}");
    }

    #[test]
    fn the_versions_are_those_of_the_documents() {
        fn version<G: progenitor_client::ClientInfo<Call>>() -> String {
            format!("v{}", G::api_version().split('.').next().unwrap())
        }
        use crate::generated::{v1, v2};
        assert_eq!([version::<v1::Client>(), version::<v2::Client>()], VERSIONS);
    }

    #[test]
    fn invalid_keys_are_refused_and_not_shown() {
        for wrong in ["", "  ", "sto_live_\nX: y", "sto live", "sto_lïve"] {
            let error = Client::new("https://orders.example/v1", wrong).unwrap_err();
            assert!(matches!(error, BuildError::Key));
            assert!(!error.to_string().contains("sto"));
        }
        // A key that was read from a file often ends with a line break.
        assert!(authorization("sto_live_x\n").is_ok());
    }
}
