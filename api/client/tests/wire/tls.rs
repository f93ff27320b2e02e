//! Tests the client over TLS, with the TLS library that the client's features select.

use crate::scripted::{Reply, read_request};
use std::sync::Arc;
use store_orders_client::reqwest::{self, Certificate};
use store_orders_client::{Client, ClientBuilder, ErrorKind};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

async fn serve(list: &'static str) -> (ClientBuilder, Certificate) {
    let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_string()]).unwrap();
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            // `accept` fails if the client rejects the certificate.
            let Ok(mut socket) = acceptor.accept(socket).await else { continue };
            read_request(&mut socket).await;
            socket.write_all(Reply::json(200, list).to_http1().as_bytes()).await.unwrap();
            socket.shutdown().await.unwrap();
        }
    });
    let client = Client::builder(format!("https://localhost:{port}/v1"), "sto_test_x");
    (client.without_retries(), Certificate::from_der(certified.cert.der()).unwrap())
}

#[tokio::test]
async fn a_trusted_server_gets_the_request() {
    let (client, certificate) = serve("[]").await;
    let http = reqwest::Client::builder().tls_certs_only([certificate]);
    let orders = client.http(http).build().unwrap().list_orders().await.unwrap();
    assert!(orders.is_empty());
}

#[tokio::test]
async fn a_server_that_is_not_trusted_gets_no_request() {
    let (client, _) = serve("[]").await;
    let error = client.build().unwrap().list_orders().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection, "{error:?}");
    let causes = std::iter::successors(std::error::Error::source(&error), |cause| cause.source());
    let causes: String = causes.map(|cause| cause.to_string().to_lowercase()).collect();
    assert!(causes.contains("certificate"), "{causes}");
}
