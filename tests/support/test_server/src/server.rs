//! A server in the test's process, and methods to send requests to it. Every response is checked
//! against the document. Over HTTP/1.1, the wire check's proxy checks the bytes. Over TLS and
//! HTTP/2, responses are checked after the HTTP client has received them.

use crate::wire_check::{
    Exchange, Observer, ReceivedResponse, SentRequest, SharedObserver, WireCheckProxy,
};
use crate::{Answer, TestSetup, client_trusting};
use http::{Method, Version};
use std::net::SocketAddr;
use store_orders::rate_limiter::CountsFile;
use store_orders::server::Server;
use store_orders_client::Client;
use testbed::Key;

/// A running server with its setup.
pub struct TestServer {
    server: Server,
    transport: Transport,
    http: reqwest::Client,
    /// The store, clock, limits and settings of the server.
    pub setup: TestSetup,
}

enum Transport {
    /// HTTP/1.1 without TLS. The client connects to the proxy, which checks the responses.
    Proxy(WireCheckProxy),
    /// HTTP/2 over TLS. Responses are checked after the client has received them.
    Tls(Observer),
}

impl TestSetup {
    /// Starts a server. Must be called inside a tokio runtime.
    pub async fn serve(self) -> TestServer {
        TestServer::new(Server::start(&self.config, self.dependencies()).await.unwrap(), self)
    }
}

impl TestServer {
    fn new(server: Server, setup: TestSetup) -> TestServer {
        let (transport, http) = match &setup.certificate {
            None => (
                Transport::Proxy(WireCheckProxy::before(server.address())),
                reqwest::Client::builder(),
            ),
            Some(certificate) => {
                (Transport::Tls(Observer::default()), client_trusting(&[certificate]))
            }
        };
        // Do not follow redirects, because tests check them.
        let http = http.no_gzip().redirect(reqwest::redirect::Policy::none());
        TestServer { server, transport, http: http.build().unwrap(), setup }
    }

    /// True while a batch of cancellations runs.
    pub fn runs_batch(&self) -> bool {
        self.server.running_batch().age().is_some()
    }

    /// The scheme and authority of the server's URLs.
    pub fn origin(&self) -> String {
        match &self.transport {
            Transport::Proxy(proxy) => format!("http://{}", proxy.address()),
            Transport::Tls(_) => format!("https://localhost:{}", self.server.address().port()),
        }
    }

    /// The address of the proxy that checks responses, for tests that send bytes that no HTTP
    /// client would send.
    pub fn proxy_address(&self) -> SocketAddr {
        match &self.transport {
            Transport::Proxy(proxy) => proxy.address(),
            Transport::Tls(_) => panic!("with TLS there is no proxy"),
        }
    }

    /// The server's own address, without the proxy that checks responses.
    pub fn direct_address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The admin listener's address; `None` if the server has no admin listener.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.server.admin_address()
    }

    /// Starts to keep the requests and responses.
    pub fn keep_exchanges(&self) {
        self.observer().keep_exchanges();
    }

    /// The requests and responses since [`TestServer::keep_exchanges`].
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.observer().exchanges()
    }

    fn observer(&self) -> &Observer {
        match &self.transport {
            Transport::Proxy(proxy) => proxy.observer(),
            Transport::Tls(observer) => observer,
        }
    }

    /// Creates a generated client, which does not retry requests.
    pub fn client(&self, key: &Key) -> Client {
        Client::builder(format!("{}/v1", self.origin()), &key.text)
            .without_retries()
            .build()
            .unwrap()
    }

    /// Sends a request with this key.
    pub async fn send_with(&self, key: &Key, method: &str, path: &str) -> Answer {
        self.send_with_headers(key, method, path, &[]).await
    }

    /// Sends a request with this key and these headers.
    pub async fn send_with_headers(
        &self,
        key: &Key,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Answer {
        let bearer = format!("Bearer {}", key.text);
        self.send(method, path, &[headers, &[("authorization", &bearer)]].concat()).await
    }

    /// Sends a request with exactly these headers.
    pub async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let sent = SentRequest::new(method, path, headers.iter().map(|(name, _)| *name));
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = self.http.request(method, format!("{}{path}", self.origin()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.unwrap();
        match &self.transport {
            Transport::Proxy(_) => read(response).await.unwrap(),
            Transport::Tls(observer) => {
                assert_eq!(response.version(), Version::HTTP_2);
                observed(&observer.shared(), &sent, response).await
            }
        }
    }

    /// Lists the orders with this key.
    pub async fn list_with(&self, key: &Key) -> Answer {
        self.send_with(key, "GET", "/v1/store/orders").await
    }

    /// Stops the server. Returns its setup as the next process finds it.
    pub async fn stop(self) -> TestSetup {
        self.server.stop().await;
        self.setup.with_counts_file(CountsFile::finish);
        self.setup.restarted()
    }

    /// Stops the server without the final write of the limits, as in a crash.
    pub async fn crash(self) -> TestSetup {
        self.server.stop().await;
        self.setup.restarted()
    }
}

/// Reads a response that did not pass through the proxy, and checks it against the document.
pub async fn observed(
    observer: &SharedObserver,
    sent: &SentRequest,
    response: reqwest::Response,
) -> Answer {
    let status = response.status().as_u16();
    let answer = read(response).await.unwrap_or_else(|error| {
        observer.cut_body(sent, status);
        panic!("{error}");
    });
    let (headers, body) = (answer.headers.clone(), answer.body.clone());
    observer.response(sent, &ReceivedResponse { status, headers, body });
    answer
}

async fn read(response: reqwest::Response) -> reqwest::Result<Answer> {
    let (status, headers) = (response.status(), response.headers().clone());
    Ok(Answer { status, headers, body: response.bytes().await?.to_vec() })
}
