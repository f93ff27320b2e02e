//! Certificates are replaced under load, and bad ones are not taken.

use crate::harness::CapturedLog;
use crate::harness::program::until;
use crate::harness::program::{Program, directory_with};
use crate::harness::{Key, TestServer, World};
use reqwest::tls::TlsInfo;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use store_orders::server::TlsFiles;

/// A certificate for `localhost` with its key.
struct Pair {
    certificate: String,
    der: Vec<u8>,
    key: String,
}

impl Pair {
    fn new() -> Pair {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_string()]).unwrap();
        Pair {
            certificate: made.cert.pem(),
            der: made.cert.der().to_vec(),
            key: made.signing_key.serialize_pem(),
        }
    }

    /// Puts both in place as certificate tools do: each file is complete when it
    /// appears, one after the other.
    fn put(&self, files: &TlsFiles) {
        for (path, content) in [(&files.certificate, &self.certificate), (&files.key, &self.key)] {
            let new = path.with_extension("new");
            std::fs::write(&new, content).unwrap();
            std::fs::rename(new, path).unwrap();
        }
    }
}

fn files_in(directory: &Path) -> TlsFiles {
    TlsFiles { certificate: directory.join("cert.pem"), key: directory.join("key.pem") }
}

/// Trusts these certificates and no others.
fn trusting(pairs: &[&Pair]) -> reqwest::Client {
    let roots = pairs.iter().map(|pair| reqwest::Certificate::from_der(&pair.der).unwrap());
    reqwest::Client::builder().tls_certs_only(roots).tls_info(true).build().unwrap()
}

/// The certificate that a new connection is answered with.
async fn shown(port: u16, pairs: &[&Pair]) -> Vec<u8> {
    let url = format!("https://localhost:{port}/openapi.json");
    let response = trusting(pairs).get(url).send().await.unwrap();
    response.extensions().get::<TlsInfo>().unwrap().peer_certificate().unwrap().to_vec()
}

/// A server with this pair in force.
async fn serve(pair: &Pair, log: Option<&CapturedLog>) -> (TestServer, TlsFiles, Key) {
    let mut world = World::new();
    if let Some(log) = log {
        world = world.with_log(log);
    }
    let files = files_in(world.directory.path());
    pair.put(&files);
    (world.config.tls_cert, world.config.tls_key) =
        (Some(files.certificate.clone()), Some(files.key.clone()));
    let key = world.pending(1..=50).enterprise_key(1_000_000, 1_000_000);
    (world.serve().await, files, key)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_under_load_loses_no_request() {
    let pairs = [Pair::new(), Pair::new(), Pair::new()];
    let all: Vec<&Pair> = pairs.iter().collect();
    let (server, files, key) = serve(all[0], None).await;
    let port = server.untapped_address().port();
    let url = format!("https://localhost:{port}/v1/store/orders");
    let (ends, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let load = (0..4).map(|client| {
        // Half of them keep their connection, half open one for each request.
        let kept = trusting(&all);
        let all: Vec<_> = pairs.iter().map(|pair| pair.der.clone()).collect();
        let (url, bearer) = (url.clone(), key.text.clone());
        let (ends, sent) = (Arc::clone(&ends), Arc::clone(&sent));
        tokio::spawn(async move {
            while !ends.load(Ordering::Relaxed) {
                let http = if client % 2 == 0 {
                    kept.clone()
                } else {
                    let roots = all.iter().map(|der| reqwest::Certificate::from_der(der).unwrap());
                    reqwest::Client::builder().tls_certs_only(roots).build().unwrap()
                };
                let response = http.get(&url).bearer_auth(&bearer).send().await.unwrap();
                assert_eq!(response.status(), 200);
                let orders: serde_json::Value = response.json().await.unwrap();
                assert_eq!(orders.as_array().unwrap().len(), 50);
                sent.fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    let load: Vec<_> = load.collect();
    for pair in [all[1], all[2], all[0]] {
        let before = sent.load(Ordering::Relaxed);
        pair.put(&files);
        until("new connections see the new certificate", || async {
            shown(port, &all).await == pair.der
        })
        .await;
        until("requests went on", || async { sent.load(Ordering::Relaxed) > before }).await;
    }
    ends.store(true, Ordering::Relaxed);
    for client in load {
        client.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_pair_is_refused_and_the_old_one_stays() {
    let (old, other, new) = (Pair::new(), Pair::new(), Pair::new());
    let log = CapturedLog::new();
    let (server, files, _) = serve(&old, Some(&log)).await;
    let port = server.untapped_address().port();
    let refused = |count: usize| {
        let errors = log.lines("ERRO").into_iter();
        let refused = errors.filter(|line| line["msg"].to_string().contains("is refused"));
        let found = refused.count();
        async move { found == count }
    };
    std::fs::write(&files.key, &other.key).unwrap();
    until("a key that does not match is refused", || refused(1)).await;
    assert_eq!(shown(port, &[&old]).await, old.der);

    std::fs::write(&files.key, "no key").unwrap();
    until("what is no key is refused", || refused(2)).await;
    std::fs::write(&files.certificate, &new.certificate[..200]).unwrap();
    until("half a certificate is refused", || refused(3)).await;
    assert_eq!(shown(port, &[&old]).await, old.der);
    let text = log.text();
    for key in [&old.key, &other.key] {
        assert!(key.lines().all(|line| !text.contains(line)), "the log holds a key");
    }

    new.put(&files);
    until("a good pair is taken", || async { shown(port, &[&old, &new]).await == new.der }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sighup_reads_what_looks_unchanged() {
    let directory = directory_with(1);
    let files = files_in(directory.path());
    let old = Pair::new();
    old.put(&files);
    let (certificate, key) = (files.certificate.to_str().unwrap(), files.key.to_str().unwrap());
    let arguments = ["--listen", "127.0.0.1:0", "--admin-listen", "off"];
    let tls = ["--tls-cert", certificate, "--tls-key", key];
    let server = Program::serve(directory.path(), &[&arguments[..], &tls[..]].concat());
    let port: u16 = server.origin().strip_prefix("https://127.0.0.1:").unwrap().parse().unwrap();
    // Of the same length, in the same files, with the same times.
    let new = std::iter::repeat_with(Pair::new)
        .find(|new| {
            new.certificate.len() == old.certificate.len() && new.key.len() == old.key.len()
        })
        .unwrap();
    for (path, content) in [(&files.certificate, &new.certificate), (&files.key, &new.key)] {
        let modified = std::fs::metadata(path).unwrap().modified().unwrap();
        std::fs::write(path, content).unwrap();
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(modified).unwrap();
    }
    server.signal("HUP");
    until("SIGHUP is heard", || async { shown(port, &[&old, &new]).await == new.der }).await;
    server.signal("TERM");
    assert_eq!(server.ended().await.0.code(), Some(0));
}

#[tokio::test]
async fn without_a_pair_there_is_no_start() {
    let directory = directory_with(0);
    let files = files_in(directory.path());
    let pair = Pair::new();
    pair.put(&files);
    std::fs::write(&files.key, Pair::new().key).unwrap();
    let (certificate, key) = (files.certificate.to_str().unwrap(), files.key.to_str().unwrap());
    for (arguments, status, error) in [
        (&["--tls-cert", certificate, "--tls-key", key][..], 1, "cannot be used together"),
        (&["--tls-cert", certificate, "--tls-key", "none.pem"], 1, "cannot read none.pem"),
        (&["--tls-cert", key, "--tls-key", key], 1, "key.pem holds no certificate in PEM"),
        (&["--tls-cert", certificate], 1, "a certificate needs its tls_key"),
        (&["--tls-key", key], 1, "a key needs its tls_cert"),
    ] {
        let listen = ["--listen", "127.0.0.1:0", "--admin-listen", "off"];
        let server = Program::serve(directory.path(), &[&listen[..], arguments].concat());
        assert!(server.printed.is_empty(), "{:?}", server.printed);
        let (ended, log) = server.ended().await;
        assert_eq!(ended.code(), Some(status), "{log}");
        assert!(log.contains(error), "{arguments:?}: {log}");
    }
}

#[tokio::test]
async fn whoever_listens_in_the_clear_to_strangers_is_warned() {
    let pair = Pair::new();
    for (listen, tls, proxy, warned) in [
        ("127.0.0.1:0", false, None, false),
        ("0.0.0.0:0", false, None, true),
        ("0.0.0.0:0", false, Some("10.0.0.0/8"), false),
        ("0.0.0.0:0", true, None, false),
    ] {
        let log = CapturedLog::new();
        let mut world = World::new().with_log(&log);
        world.config.listen = listen.parse().unwrap();
        if tls {
            let files = files_in(world.directory.path());
            pair.put(&files);
            (world.config.tls_cert, world.config.tls_key) =
                (Some(files.certificate), Some(files.key));
        }
        let proxies = proxy.map(|network| network.parse().unwrap()).into_iter().collect();
        world.config.trusted_proxies = proxies;
        world.serve().await.stop().await;
        let warnings = log.lines("WARN");
        let found = warnings.iter().any(|line| line["msg"].to_string().contains("unencrypted"));
        assert_eq!(found, warned, "{listen}, TLS: {tls}, proxy: {proxy:?}");
    }
}
