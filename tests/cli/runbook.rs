//! Checks that the runbook has a section for each alert, and that the commands in the runbook print
//! the output shown there.

use std::net::TcpStream;
use std::process::Command;
use testbed::{
    CliSandbox, Console, DataDir, Preload, Program, ServerProcess, consoles, wait_until,
};

pub(super) const RUNBOOK: &str = "src/handbook/runbook.md";

/// The runbook's sections with console sessions. `cargo xtask faults` runs the sessions that need
/// PostgreSQL.
pub(super) const SECTIONS: [&str; 15] = [
    "StoreOrdersDown",
    "StoreOrdersNotReady",
    "StoreOrdersStoreUnreachable",
    "StoreOrdersStandbyAway",
    "StoreOrdersStandbyNotRequired",
    "StoreOrdersListBehind",
    "StoreOrdersErrors",
    "StoreOrdersSlow",
    "StoreOrdersWritesHang",
    "StoreOrdersDamaged",
    "StoreOrdersListsCutOff",
    "StoreOrdersFlood",
    "StoreOrdersLogLinesDropped",
    "StoreOrdersCertificateEnds",
    "StoreOrdersFilesRunOut",
];

/// How long a write hangs, in milliseconds. The server reports the hang after 5 s, so the runbook's
/// commands must finish in the remaining 7 s.
const HUNG_MS: i64 = 12_000;

fn sessions<const COUNT: usize>(section: &str) -> [String; COUNT] {
    consoles(RUNBOOK, section).try_into().unwrap()
}

struct Site {
    sandbox: CliSandbox,
    data: DataDir,
    admin: String,
}

impl Site {
    fn new() -> Site {
        let sandbox = CliSandbox::new();
        let data = DataDir::at(&Program::built().unwrap(), &sandbox.path("server"));
        Site { sandbox, data, admin: testbed::free_address().unwrap().to_string() }
    }

    fn serve(&self, flags: &[&str]) -> ServerProcess {
        self.start(&mut self.data.command(), flags)
    }

    fn start(&self, command: &mut Command, flags: &[&str]) -> ServerProcess {
        self.data.start(command, &[&["--admin-listen", &self.admin], flags].concat()).unwrap()
    }

    fn console(&self, text: &str, more: &[(&str, String)]) {
        self.console_after(text, "systemctl() { :; }", more);
    }

    fn console_after(&self, text: &str, setup: &str, more: &[(&str, String)]) {
        let data = self.data.path().display().to_string();
        let setup = format!(
            "export STORE_ORDERS_DATA_DIR={data} STORE_ORDERS_ADMIN_LISTEN={}\n{setup}",
            self.admin
        );
        let paths = [
            ("/var/lib/store-orders-backups", self.sandbox.path("backups").display().to_string()),
            ("/var/lib/store-orders", data),
            ("127.0.0.1:8081", self.admin.clone()),
        ];
        let real = [&paths[..], more].concat();
        self.sandbox.console(&Console { page: RUNBOOK, text, setup: &setup, real: &real });
    }

    async fn send(&self, server: &ServerProcess, request: (&str, &str), key: &str, times: usize) {
        let (method, path) = (request.0.parse().unwrap(), request.1);
        let logged = || server.log().matches(r#""msg":"request""#).count();
        let before = logged();
        let http = reqwest::Client::new();
        let sent = http.request(method, format!("{}{path}", server.base_url())).bearer_auth(key);
        let all = (0..times).map(|_| sent.try_clone().unwrap().send());
        for response in futures::future::join_all(all).await {
            response.unwrap();
        }
        let lines = || async { logged() >= before + times };
        wait_until("the requests are logged", lines).await;
    }
}

#[test]
#[ignore = "needs curl: cargo xtask external-checks"]
fn with_curl_the_runbook_shows_a_server_that_is_down() {
    let site = Site::new();
    let [down, log, up] = sessions("StoreOrdersDown");
    site.data.issue_key("acme", "pro").unwrap();
    site.console(&down, &[]);
    let same = ["serve", "--listen", "127.0.0.1:1", "--admin-listen", "127.0.0.1:1"];
    site.sandbox.write("server.log", site.sandbox.run(&same).stderr);
    site.console(&log, &[]);
    let _server = site.serve(&[]);
    site.console(&up, &[]);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs curl: cargo xtask external-checks"]
async fn with_curl_the_runbook_shows_writes_that_hang() {
    let (site, disk) = (Site::new(), Preload::disk().unwrap());
    let [why] = sessions("StoreOrdersNotReady");
    let [hang, over] = sessions("StoreOrdersWritesHang");
    site.data.import_pending(1..=1).unwrap();
    let key = site.data.issue_key("acme", "business").unwrap();
    let server = site.start(disk.put_into(&mut site.data.command()), &[]);
    let health = async || site.sandbox.run(&["health", "--admin-listen", &site.admin]).status == 0;
    disk.set(HUNG_MS).unwrap();
    let cancel = site.send(&server, ("DELETE", "/store/orders/1"), &key.text, 1);
    let shown = async {
        wait_until("the batch hangs", || async { !health().await }).await;
        site.console(&why, &[]);
        site.console(&hang, &[]);
        disk.set(0).unwrap();
        wait_until("the batch is over", health).await;
        site.console(&over, &[]);
    };
    tokio::join!(cancel, shown);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runbook_counts_the_reasons_of_errors() {
    let (site, disk) = (Site::new(), Preload::disk().unwrap());
    let [reasons] = sessions("StoreOrdersErrors");
    site.data.import_pending(1..=1).unwrap();
    let key = site.data.issue_key("acme", "business").unwrap();
    let server = site.start(disk.put_into(&mut site.data.command()), &[]);
    disk.set(-1).unwrap();
    site.send(&server, ("DELETE", "/store/orders/1"), &key.text, 2).await;
    site.console(&reasons, &[]);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs curl: cargo xtask external-checks"]
async fn with_curl_the_runbook_shows_who_sends_most() {
    let site = Site::new();
    let [slow] = sessions("StoreOrdersSlow");
    let keys = ["acme", "newcorp"].map(|name| site.data.issue_key(name, "business").unwrap());
    let server = site.serve(&[]);
    for (key, times) in keys.iter().zip([100, 10]) {
        site.send(&server, ("GET", "/store/orders"), &key.text, times).await;
    }
    let counted = || async {
        site.data.run(&["accounts", "show", "1"]).unwrap().contains("day        100 of")
    };
    wait_until("the requests are counted", counted).await;
    site.console(&slow, &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runbook_shows_where_a_flood_comes_from() {
    let site = Site::new();
    let [flood] = sessions("StoreOrdersFlood");
    let server = site.serve(&[]);
    site.send(&server, ("GET", "/store/orders"), "wrong", 12).await;
    site.console(&flood, &[]);
}

#[test]
#[ignore = "needs curl: cargo xtask external-checks"]
fn with_curl_the_runbook_shows_a_server_at_rest() {
    let site = Site::new();
    let _server = site.serve(&[]);
    for section in ["StoreOrdersListsCutOff", "StoreOrdersLogLinesDropped"] {
        let [session] = sessions(section);
        site.console(&session, &[]);
    }
}

#[test]
#[ignore = "needs curl and openssl: cargo xtask external-checks"]
fn with_curl_and_openssl_the_runbook_replaces_a_certificate() {
    let site = Site::new();
    let [replaced, over] = sessions("StoreOrdersCertificateEnds");
    let [cert, key] =
        ["cert.pem", "key.pem"].map(|name| site.sandbox.path(name).display().to_string());
    let certify = format!(
        "openssl req -x509 -nodes -newkey rsa:2048 -subj /CN=localhost -out {cert} -keyout {key} 2>&-"
    );
    let made = Command::new("sh").arg("-c").arg(format!("{certify} -days 9")).status().unwrap();
    assert!(made.success(), "{made}");
    let server = site.serve(&["--tls-cert", &cert, "--tls-key", &key]);
    let reload = format!(
        "systemctl() {{ {certify} -days 90 && kill -HUP {}; \
         until grep -q reloaded server.log; do sleep 0.1; done; }}",
        server.process().pid().unwrap()
    );
    let real = [("127.0.0.1:8080", server.address().unwrap().to_string()), ("cert.pem", cert)];
    site.console_after(&replaced, &reload, &real);
    site.console_after(&over, &reload, &real);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs curl and ss: cargo xtask external-checks"]
async fn with_curl_and_ss_the_runbook_shows_who_holds_connections() {
    let site = Site::new();
    let [connections] = sessions("StoreOrdersFilesRunOut");
    let server = site.serve(&[]);
    let address = server.address().unwrap();
    let metrics = format!("http://{}/metrics", site.admin);
    let are_open = async |connections: usize| {
        let text = reqwest::get(&metrics).await.unwrap().text().await.unwrap();
        text.contains(&format!("\nstore_orders_open_connections {connections}\n"))
    };
    wait_until("the connection that waited for the start is closed", || are_open(0)).await;
    let _open = [(); 40].map(|()| TcpStream::connect(address).unwrap());
    wait_until("the connections are accepted", || are_open(40)).await;
    site.console(&connections, &[(":8080", format!(":{}", address.port()))]);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs curl: cargo xtask external-checks"]
async fn with_curl_the_runbook_restores_a_damaged_store() {
    let site = Site::new();
    let [damaged, restored, compared, log, redone, started, over] = sessions("StoreOrdersDamaged");
    site.data.import_pending(1..=2_000).unwrap();
    let key = site.data.issue_key("acme", "business").unwrap();
    let partner = site.data.issue_key("old-partner", "free").unwrap();
    std::fs::create_dir(site.sandbox.path("backups")).unwrap();
    let backup = site.sandbox.path("backups/2026-11-24T021500Z.sqlite");
    site.data.run(&["backup", backup.to_str().unwrap()]).unwrap();
    site.data.run(&["keys", "revoke", &partner.id]).unwrap();
    site.data.issue_key("newcorp", "free").unwrap();
    let server = site.serve(&[]);
    for id in [5, 6] {
        let mut cancel = Command::new("curl");
        cancel.args(["--silent", "--fail", "--request", "DELETE", "--header"]);
        cancel.arg(format!("Authorization: Bearer {}", key.text));
        cancel.arg(format!("{}/store/orders/{id}", server.base_url()));
        assert!(cancel.status().unwrap().success());
    }
    wait_until("the use of the key is recorded", || async {
        site.data.run(&["keys", "list", "--json"]).unwrap().contains("usedAt")
    })
    .await;
    server.stop().unwrap();
    let store = site.data.path().join("store.sqlite");
    let spoil = |sql: &str| rusqlite::Connection::open(&store).unwrap().execute_batch(sql).unwrap();
    // Hide the index from SQLite and change an order, so that the index no longer matches the
    // table.
    spoil(
        "CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE name = 'orders_by_change';
         PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'orders_by_change'",
    );
    spoil("UPDATE orders SET change_number = 3 WHERE id = 7");
    spoil(
        "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema SELECT * FROM kept; DROP TABLE kept",
    );
    site.console(&damaged, &[]);
    site.console(&restored, &[]);
    site.console(&compared, &[("key_GpZ7NzGWTPL8", partner.id)]);
    site.console(&log, &[]);
    site.console(&redone, &[]);
    site.console(&started, &[]);
    let _server = site.serve(&[]);
    site.console(&over, &[]);
}

/// Each alert's section must have a command and all four parts, such as `**Means.**`.
#[test]
fn each_alert_has_a_section_of_the_runbook() {
    let sandbox = CliSandbox::new();
    let alerts = sandbox.run(&["alerts"]).done();
    let names: Vec<&str> = alerts
        .lines()
        .filter_map(|line| line.split_once("- alert: "))
        .map(|(_, name)| name)
        .collect();
    assert!(names.len() > 12, "{alerts}");
    for name in &names {
        let address = format!("runbook: store-orders handbook runbook {name}\n");
        assert_eq!(alerts.matches(&address).count(), 1, "{name}");
        let section = sandbox.run(&["handbook", "runbook", name]).done();
        let headings = section.lines().filter(|line| line.starts_with("## "));
        assert_eq!(headings.collect::<Vec<_>>(), [format!("## {name}")]);
        for part in ["**Means.**", "**Do.**", "**Do not**", "**Over when**"] {
            assert_eq!(section.matches(&format!("\n{part}")).count(), 1, "{name}: {part}");
        }
        assert!(section.contains("$ ") || section.contains("`store-orders "), "{name}");
    }
    let sections = sandbox.run(&["handbook", "runbook"]).done();
    assert_eq!(sections.matches("\n## ").count(), names.len());
    let error = sandbox.run(&["handbook", "runbook", "StoreOrdersUp"]).error();
    assert!(error.contains("There are: StoreOrdersDown, StoreOrdersNotReady, "), "{error}");
}
