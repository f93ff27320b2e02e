//! TLS: certificates are replaced under load, and bad certificates are rejected.

use super::{admin, data_with};
use reqwest::tls::TlsInfo;
use rustix::fs::OFlags;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::SystemTime;
use store_orders::server::TlsFiles;
use test_server::wire_check::{Observer, SentRequest};
use test_server::{CapturedLog, TestCertificate, TestServer, TestSetup, client_trusting, observed};
use testbed::{
    ChildProcess, DataDir, Key, ServerProcess, Signal, WAIT_TIMEOUT, wait_blocking, wait_until,
};
use tokio::io::AsyncWriteExt;

async fn presented_certificate(port: u16, certificates: &[&TestCertificate]) -> Vec<u8> {
    let url = format!("https://localhost:{port}/openapi.json");
    let client = client_trusting(certificates).build().unwrap();
    let response = client.get(url).send().await.unwrap();
    response.extensions().get::<TlsInfo>().unwrap().peer_certificate().unwrap().to_vec()
}

async fn serve(
    certificate: &TestCertificate,
    log: Option<&CapturedLog>,
) -> (TestServer, TlsFiles, Key) {
    let mut setup = TestSetup::new();
    if let Some(log) = log {
        setup = setup.with_log(log);
    }
    let setup = setup.with_certificate(certificate.clone());
    let files = TlsFiles::from_config(&setup.config).unwrap();
    let key = setup.pending(1..=50).enterprise_key(1_000_000, 1_000_000);
    (setup.serve().await, files, key)
}

fn serve_program(data: &DataDir, certificate: &TestCertificate) -> (ServerProcess, TlsFiles) {
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| data.path().join(name));
    let files = TlsFiles { certificate: cert.clone(), key: key.clone() };
    certificate.install(&files);
    let flags = ["--tls-cert", cert.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    (data.serve(&flags).unwrap(), files)
}

/// Requests the list of orders until `stop` is set, and counts the responses in `sent`. If
/// `one_connection` is false, each request opens a new connection, so that the server presents its
/// current certificate.
async fn list_until(
    stop: Arc<AtomicBool>,
    sent: Arc<AtomicUsize>,
    one_connection: bool,
    (url, key, certificates): (String, Key, Vec<TestCertificate>),
) {
    let observer = Observer::default();
    let request = SentRequest::new("GET", "/v1/store/orders", []);
    let client = || client_trusting(&certificates.iter().collect::<Vec<_>>()).build().unwrap();
    let shared_client = client();
    while !stop.load(Ordering::Relaxed) {
        let http = if one_connection { shared_client.clone() } else { client() };
        let response = http.get(&url).bearer_auth(&key.text).send().await.unwrap();
        let answer = observed(&observer.shared(), &request, response).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.json().as_array().unwrap().len(), 50);
        sent.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn metrics_have_the_expiry_of_the_certificate() {
    let server = admin::setup().with_certificate(TestCertificate::new()).serve().await;
    let (_, text) = admin::ask(&admin::admin_origin(&server), "/metrics").await;
    let name = "\nstore_orders_certificate_expiry_timestamp_seconds ";
    let (_, after) = text.split_once(name).unwrap();
    let ends_at: f64 = after.lines().next().unwrap().parse().unwrap();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64();
    assert!(ends_at > now, "{ends_at}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_under_load_loses_no_request() {
    let certificates = [(); 3].map(|()| TestCertificate::new());
    let all: Vec<&TestCertificate> = certificates.iter().collect();
    let (server, files, key) = serve(all[0], None).await;
    let port = server.direct_address().port();
    let url = format!("https://localhost:{port}/v1/store/orders");
    let (stop, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let load = (0..4).map(|client| {
        let target = (url.clone(), key.clone(), certificates.to_vec());
        tokio::spawn(list_until(stop.clone(), sent.clone(), client % 2 == 0, target))
    });
    let load: Vec<_> = load.collect();
    for certificate in [all[1], all[2], all[0]] {
        let before = sent.load(Ordering::Relaxed);
        certificate.install(&files);
        wait_until("new connections see the new certificate", || async {
            presented_certificate(port, &all).await == certificate.der
        })
        .await;
        wait_until("requests went on", || async { sent.load(Ordering::Relaxed) > before }).await;
    }
    stop.store(true, Ordering::Relaxed);
    for client in load {
        client.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_pair_is_rejected_and_the_old_one_stays() {
    let [old, other, new] = [(); 3].map(|()| TestCertificate::new());
    let log = CapturedLog::new();
    let (server, files, _) = serve(&old, Some(&log)).await;
    let port = server.direct_address().port();
    let rejected = |count: usize| {
        let errors = log.lines("ERROR").into_iter();
        let rejected = errors.filter(|line| line["msg"] == "certificate not reloaded");
        let actual = rejected.count();
        async move { actual == count }
    };
    std::fs::write(&files.key, &other.key).unwrap();
    wait_until("a key that does not match is rejected", || rejected(1)).await;
    assert_eq!(presented_certificate(port, &[&old]).await, old.der);

    std::fs::write(&files.key, "no key").unwrap();
    wait_until("a file without a key is rejected", || rejected(2)).await;
    std::fs::write(&files.certificate, &new.pem[..200]).unwrap();
    wait_until("half a certificate is rejected", || rejected(3)).await;
    assert_eq!(presented_certificate(port, &[&old]).await, old.der);
    let text = log.text();
    for key in [&old.key, &other.key] {
        assert!(key.lines().all(|line| !text.contains(line)), "the log contains a key");
    }

    new.install(&files);
    wait_until("a good pair is loaded", || async {
        presented_certificate(port, &[&old, &new]).await == new.der
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sighup_rereads_files_that_look_unchanged() {
    let (data, _) = data_with(1);
    let old = TestCertificate::new();
    let (server, files) = serve_program(&data, &old);
    let port = server.address().unwrap().port();
    // SIGHUP must reread files whose lengths and modification times are unchanged. So generate
    // certificates until the new files have the lengths of the old files.
    let same_length =
        |new: &TestCertificate| new.pem.len() == old.pem.len() && new.key.len() == old.key.len();
    let new = std::iter::repeat_with(TestCertificate::new).take(1_000).find(same_length).unwrap();
    for (path, content) in [(&files.certificate, &new.pem), (&files.key, &new.key)] {
        let modified = std::fs::metadata(path).unwrap().modified().unwrap();
        std::fs::write(path, content).unwrap();
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(modified).unwrap();
    }
    server.signal(Signal::HUP).unwrap();
    wait_until("SIGHUP is noticed", || async {
        presented_certificate(port, &[&old, &new]).await == new.der
    })
    .await;
    server.signal(Signal::TERM).unwrap();
    assert_eq!(server.exited().await.0.code(), Some(0));
}

/// Creates a FIFO to simulate a file on a disk that hangs. Opening a FIFO blocks until another
/// process opens the other end.
fn create_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn certificate_files_that_hang_block_one_thread_and_are_loaded_later() {
    // The test sends more signals than tokio has blocking threads. If each signal blocked a thread,
    // no thread would be left for requests.
    //
    // The system merges pending signals. A request after each signal gives the server time to
    // handle the signal.
    const SIGNALS: i64 = 600;
    let (data, key) = data_with(SIGNALS);
    let [old, new] = [(); 2].map(|()| TestCertificate::new());
    let (server, files) = serve_program(&data, &old);
    let port = server.address().unwrap().port();
    let fifo = data.path().join("fifo");
    create_fifo(&fifo);
    std::fs::rename(&fifo, &files.certificate).unwrap();
    let client = client_trusting(&[&old]).build().unwrap();
    for order in 1..=SIGNALS {
        server.signal(Signal::HUP).unwrap();
        let url = format!("https://localhost:{port}/v1/store/orders/{order}");
        let answer = client.delete(url).bearer_auth(&key.text).send().await.unwrap();
        assert_eq!(answer.status(), 204, "order {order}");
    }
    std::fs::rename(&files.certificate, &fifo).unwrap();
    new.install(&files);
    // End the hanging reload. The signals that arrived during it cause one more reload.
    std::fs::write(&fifo, "").unwrap();
    wait_until("the new certificate is loaded", || async {
        presented_certificate(port, &[&old, &new]).await == new.der
    })
    .await;
    server.signal(Signal::TERM).unwrap();
    let (ended, log) = server.exited().await;
    assert_eq!((ended.code(), log.matches("certificate reloaded").count()), (Some(0), 1), "{log}");
}

/// The server reads the certificate when it checks the settings, and again when it starts. The
/// certificate is a FIFO, so each read blocks until the test writes. Signals can thus arrive during
/// both reads.
#[test]
fn a_server_that_reads_its_certificate_survives_sighup_and_stops_at_sigterm() {
    let data = DataDir::temporary().unwrap();
    std::fs::create_dir_all(data.path()).unwrap();
    let certificate = TestCertificate::new();
    let [cert, second, key, log] =
        ["cert.pem", "second", "key.pem", "log"].map(|name| data.path().join(name));
    std::fs::write(&key, &certificate.key).unwrap();
    create_fifo(&cert);
    create_fifo(&second);
    let mut command = data.command();
    command.args(["serve", "--listen", "127.0.0.1:0", "--admin-listen", "off", "--tls-cert"]);
    command.arg(&cert).arg("--tls-key").arg(&key).stderr(File::create(&log).unwrap());
    let mut server = ChildProcess::new(command.spawn().unwrap(), "the server");
    let open_for_writing = || {
        // With NONBLOCK, opening the FIFO for writing fails until the server opens it for reading.
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let open = || File::options().write(true).custom_flags(flags).open(&cert).ok();
        wait_blocking("the server reads the certificate", WAIT_TIMEOUT, open).unwrap()
    };
    let mut writer = open_for_writing();
    server.signal(Signal::HUP).unwrap();
    std::fs::rename(&second, &cert).unwrap();
    writer.write_all(certificate.pem.as_bytes()).unwrap();
    drop(writer);
    let _writer = open_for_writing();
    server.signal(Signal::HUP).unwrap();
    server.signal(Signal::TERM).unwrap();
    let (ended, log) = (server.wait().unwrap(), std::fs::read_to_string(&log).unwrap());
    assert_eq!(ended.code(), Some(0), "{log}");
    assert!(super::stopping::ends_with_stopped(&log), "{log}");
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn files_that_cannot_be_read_for_a_while_are_loaded_later() {
    use rustix::process::{Resource, Rlimit, prlimit};
    let (data, _) = data_with(1);
    let [old, new] = [(); 2].map(|()| TestCertificate::new());
    let (server, files) = serve_program(&data, &old);
    let port = server.address().unwrap().port();
    let limit = |limit| prlimit(server.process().pid().ok(), Resource::Nofile, limit).unwrap();
    // Keep the hard limit, because only root could raise it again.
    let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
    let before = limit(Rlimit { current: Some(0), maximum });
    new.install(&files);
    wait_until("no file can be opened", || async {
        server.log().contains("certificate not reloaded")
    })
    .await;
    limit(before);
    wait_until("the new certificate is loaded", || async {
        presented_certificate(port, &[&old, &new]).await == new.der
    })
    .await;
}

#[tokio::test]
async fn a_server_that_is_public_without_tls_logs_a_warning() {
    for (listen, tls, proxy, warned) in [
        ("127.0.0.1:0", false, None, false),
        ("0.0.0.0:0", false, None, true),
        ("0.0.0.0:0", false, Some("10.0.0.0/8"), false),
        ("0.0.0.0:0", true, None, false),
    ] {
        let log = CapturedLog::new();
        let mut setup = TestSetup::new().with_log(&log);
        setup.config.listen = listen.parse().unwrap();
        if tls {
            setup = setup.with_certificate(TestCertificate::new());
        }
        let proxies = proxy.map(|network| network.parse().unwrap()).into_iter().collect();
        setup.config.trusted_proxies = proxies;
        setup.serve().await.stop().await;
        let warnings = log.lines("WARN");
        let has_warning =
            warnings.iter().any(|line| line["msg"].to_string().contains("unencrypted"));
        assert_eq!(has_warning, warned, "{listen}, TLS: {tls}, proxy: {proxy:?}");
    }
}

#[tokio::test]
async fn an_unfinished_handshake_delays_no_other() {
    let certificate = TestCertificate::new();
    let (server, ..) = serve(&certificate, None).await;
    let port = server.direct_address().port();
    let mut unfinished = Vec::new();
    for sent in [&b""[..], b"\x16\x03\x01\x02\x00\x01"].repeat(50) {
        let mut socket = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        socket.write_all(sent).await.unwrap();
        unfinished.push(socket);
    }
    assert_eq!(presented_certificate(port, &[&certificate]).await, certificate.der);
    drop(unfinished);
}
