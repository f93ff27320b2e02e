//! A server in the test's process, and methods to send requests to the server. Each response is
//! checked against the API document.
//!
//! Over HTTP/1.1 without TLS, a proxy checks the bytes. Over HTTP/2 with TLS, the check runs after
//! the HTTP client has received the response.

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

pub struct TestServer {
    server: Server,
    transport: Transport,
    http: reqwest::Client,
    pub setup: TestSetup,
}

enum Transport {
    /// HTTP/1.1 without TLS. The client connects to the proxy, which checks the responses.
    Proxy(WireCheckProxy),
    /// HTTP/2 over TLS. Responses are checked after the client has received them.
    Tls(Observer),
}

impl TestSetup {
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
        // Do not follow redirects, because tests check the redirects themselves.
        let http = http.no_gzip().redirect(reqwest::redirect::Policy::none());
        TestServer { server, transport, http: http.build().unwrap(), setup }
    }

    pub fn runs_batch(&self) -> bool {
        self.server.running_batch().age().is_some()
    }

    pub fn origin(&self) -> String {
        match &self.transport {
            Transport::Proxy(proxy) => format!("http://{}", proxy.address()),
            Transport::Tls(_) => format!("https://localhost:{}", self.server.address().port()),
        }
    }

    /// Returns the address of the proxy that checks responses. Tests use it to send bytes that no
    /// HTTP client would send.
    pub fn proxy_address(&self) -> SocketAddr {
        match &self.transport {
            Transport::Proxy(proxy) => proxy.address(),
            Transport::Tls(_) => panic!("with TLS there is no proxy"),
        }
    }

    /// Returns the server's own address, for tests that bypass the proxy.
    pub fn direct_address(&self) -> SocketAddr {
        self.server.address()
    }

    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.server.admin_address()
    }

    /// From now on, keeps the requests and responses, for [`TestServer::exchanges`]. They are not
    /// kept by default, because lists may be large.
    pub fn keep_exchanges(&self) {
        self.observer().keep_exchanges();
    }

    pub fn exchanges(&self) -> Vec<Exchange> {
        self.observer().exchanges()
    }

    fn observer(&self) -> &Observer {
        match &self.transport {
            Transport::Proxy(proxy) => proxy.observer(),
            Transport::Tls(observer) => observer,
        }
    }

    pub fn client(&self, key: &Key) -> Client {
        Client::builder(format!("{}/v1", self.origin()), &key.text)
            .without_retries()
            .build()
            .unwrap()
    }

    pub async fn send_with(&self, key: &Key, method: &str, path: &str) -> Answer {
        self.send_with_headers(key, method, path, &[]).await
    }

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

    /// Sends a request with these headers. Unlike [`TestServer::send_with`], does not add a key.
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

    pub async fn list_with(&self, key: &Key) -> Answer {
        self.send_with(key, "GET", "/v1/store/orders").await
    }

    /// Stops the server and saves the request counts in their file. Returns the setup as the next
    /// process would find it.
    pub async fn stop(self) -> TestSetup {
        self.server.stop().await;
        self.setup.with_counts_file(CountsFile::finish);
        self.setup.restarted()
    }

    /// Stops the server without a final write of the counts. So the next process finds the files as
    /// after a crash.
    pub async fn crash(self) -> TestSetup {
        self.server.stop().await;
        self.setup.restarted()
    }
}

/// Reads a response that did not pass through the proxy, and checks it against the document. Fails
/// the test if the body ends early.
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
