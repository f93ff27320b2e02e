//! Makes a client: base address, key and time-outs. It sends nothing.

use crate::{Client, RetryPolicy};
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use std::time::Duration;

/// The base address of production, `https://{host}/v1`, which takes keys that
/// begin with `sto_live_`. The operator of the service tells you the host.
pub fn production(host: &str) -> String {
    format!("https://{host}/v1")
}

/// The base address of staging, `https://{host}/v1`, which takes keys that
/// begin with `sto_test_`. The operator of the service tells you the host.
pub fn staging(host: &str) -> String {
    format!("https://{host}/v1")
}

/// Why a client could not be made. No message holds the key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The base address is no URL that requests could be sent to.
    #[error("the base address {0}")]
    BaseAddress(&'static str),
    /// The key cannot be sent in a header.
    #[error("the API key is empty or holds characters that no key has")]
    Key,
    /// The HTTP client could not be set up, for example its TLS.
    #[error("the HTTP client could not be set up")]
    Http(#[source] reqwest::Error),
}

impl Client {
    /// A client of the service at this base address, that sends this key, has
    /// time-outs, and waits and tries again as [`RetryPolicy`] says.
    ///
    /// No connection is made before the first request. The base address is
    /// [`production`], [`staging`] or another that ends in `/v1`.
    pub fn connect(
        base_address: impl AsRef<str>,
        key: impl AsRef<str>,
    ) -> Result<Self, ConnectError> {
        Self::builder(base_address, key)?.build()
    }

    /// Like [`connect`](Self::connect), with options to set before
    /// [`build`](ClientBuilder::build).
    pub fn builder(
        base_address: impl AsRef<str>,
        key: impl AsRef<str>,
    ) -> Result<ClientBuilder, ConnectError> {
        Ok(ClientBuilder {
            base_address: checked_base_address(base_address.as_ref())?,
            authorization: authorization(key.as_ref())?,
            retry: RetryPolicy::default(),
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(30),
            http: None,
        })
    }
}

/// The options of a client that is yet to be made. From [`Client::builder`].
#[must_use = "nothing is made before `build`"]
pub struct ClientBuilder {
    base_address: String,
    authorization: HeaderValue,
    retry: RetryPolicy,
    connect_timeout: Duration,
    read_timeout: Duration,
    http: Option<reqwest::ClientBuilder>,
}

impl ClientBuilder {
    /// Tries again as this policy says.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// Sends every request once: 429 and 503 and lost connections come back
    /// as they are.
    pub fn without_retries(self) -> Self {
        self.retry(RetryPolicy::never())
    }

    /// How long a connection may take to open: 10 seconds unless set.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How long the server may be silent: 30 seconds unless set. It starts
    /// afresh with every part that arrives, so a long list may take its time.
    pub fn read_timeout(mut self, timeout: Duration) -> Self {
        self.read_timeout = timeout;
        self
    }

    /// Starts from this HTTP client, for a proxy, a private certificate
    /// authority or the like. Key, time-outs and redirects are set over it.
    pub fn http(mut self, http: reqwest::ClientBuilder) -> Self {
        self.http = Some(http);
        self
    }

    /// Makes the client.
    pub fn build(self) -> Result<Client, ConnectError> {
        let user_agent = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));
        let mut http = self
            .http
            .unwrap_or_else(|| reqwest::Client::builder().user_agent(user_agent))
            .default_headers(HeaderMap::from_iter([(AUTHORIZATION, self.authorization)]))
            .connect_timeout(self.connect_timeout)
            .read_timeout(self.read_timeout)
            // The API redirects nowhere, so whoever does may not see the key.
            .redirect(reqwest::redirect::Policy::none());
        if self.retry.is_never() {
            // Reqwest repeats by itself what HTTP/2 refused: that, too, is a retry.
            http = http.retry(reqwest::retry::never());
        }
        let http = http.build().map_err(ConnectError::Http)?;
        Ok(Client::new_with_client(&self.base_address, http, self.retry))
    }
}

impl std::fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("base_address", &self.base_address)
            .field("retry", &self.retry)
            .field("connect_timeout", &self.connect_timeout)
            .field("read_timeout", &self.read_timeout)
            .finish_non_exhaustive()
    }
}

/// The address without a slash at its end: paths are put behind it.
fn checked_base_address(address: &str) -> Result<String, ConnectError> {
    let url = Url::parse(address).map_err(|_| ConnectError::BaseAddress("is no URL"))?;
    let fault = if !matches!(url.scheme(), "http" | "https") {
        "must begin with https:// or http://"
    } else if !url.username().is_empty() || url.password().is_some() {
        "must hold no user name or password: the key goes beside it"
    } else if url.query().is_some() || url.fragment().is_some() {
        "must end with its path: no query and no fragment"
    } else {
        return Ok(address.trim().trim_end_matches('/').to_string());
    };
    Err(ConnectError::BaseAddress(fault))
}

/// `Bearer <key>`, marked as sensitive: no `Debug` output shows it.
fn authorization(key: &str) -> Result<HeaderValue, ConnectError> {
    let key = key.trim();
    if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ConnectError::Key);
    }
    let mut value =
        HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| ConnectError::Key)?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_addresses_are_checked() {
        let base = |address: &str| checked_base_address(address).map_err(|e| e.to_string());
        assert_eq!(base(&production("o.example")).unwrap(), "https://o.example/v1");
        assert_eq!(base(&staging("s.example")).unwrap(), "https://s.example/v1");
        assert_eq!(base("http://[::1]:80/v1/").unwrap(), "http://[::1]:80/v1");
        for wrong in [
            "",
            "orders.example/v1",
            "ftp://orders.example/v1",
            "https://me:secret@orders.example/v1",
            "https://orders.example/v1?key=secret",
            "https://orders.example/v1#x",
        ] {
            let message = base(wrong).unwrap_err();
            assert!(!message.contains("secret"), "{message}");
        }
    }

    #[test]
    fn keys_that_no_header_can_hold_are_refused_unnamed() {
        for wrong in ["", "  ", "sto_live_\nX: y", "sto live", "sto_lïve"] {
            let error = Client::connect("https://orders.example/v1", wrong).unwrap_err();
            assert!(matches!(error, ConnectError::Key));
            assert!(!error.to_string().contains("sto"));
        }
        // The line break that a file or a variable ends with is no part of it.
        assert!(authorization("sto_live_x\n").is_ok());
    }
}
