//! Runs the commands of the handbook's page for one machine, with a real nginx. Directories of the
//! sandbox replace system directories. The test itself starts the processes that systemd would
//! start.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use testbed::{CliSandbox, Console, Program, ServerProcess, consoles, free_address, start_nginx};

pub(super) const ONE_MACHINE: &str = "src/handbook/one-machine.md";

/// The sections of [`ONE_MACHINE`] that contain console sessions.
pub(super) const SECTIONS: [&str; 7] = [
    "The program",
    "The user and the server",
    "TLS and nginx",
    "The first account and its key",
    "Nightly backups",
    "Alerts",
    "Upgrades",
];

/// Defines shell functions that run instead of three programs.
///
/// - `systemctl` starts no unit. It runs the backup script instead of the backup's unit.
/// - `nginx` runs nginx with Debian's configuration. The nginx site has the sandbox's paths and
///   free ports.
/// - `curl` runs curl from 127.0.0.2. So the log shows whether the server took curl or nginx for
///   the client.
const SETUP: &str = r#"
    export STORE_ORDERS_DATA_DIR=/var/lib/store-orders BACKUPS=/var/lib/store-orders-backups
    export PATH=/usr/local/bin:/usr/local/sbin:$PATH:/usr/sbin
    systemctl() {
        case "$*" in
            "start store-orders-backup") store-orders-backup > /dev/null;;
            "enable --now"*) echo "Created symlink to the unit";;
        esac
    }
    nginx() {
        sed -i -e "$SITE" /etc/nginx/sites-available/store-orders
        command nginx -e /var/log/nginx/error.log -c /etc/nginx/nginx.conf "$@"
    }
    curl() { command curl --interface 127.0.0.2 "$@"; }"#;

/// Defines `call`, which sends a request through nginx with the customer's key.
const CALL: &str = r#"$ call() {
>   curl --silent --cacert /etc/ssl/store-orders/cert.pem --header 'Authorization: Bearer sto_live_…' \
>     --header 'X-Forwarded-For: 192.0.2.1' --connect-to orders.example.com:443:127.0.0.1:443 "$@"
> }
"#;

/// The number of clients that never finish the TLS handshake. It exceeds Debian's default limit for
/// nginx, 768 connections, which the commands of [`ONE_MACHINE`] raise.
const HALF_OPEN: usize = 900;

/// The first bytes of a TLS handshake. The half-open clients send these bytes, because nginx may
/// close a silent connection in favor of a new one.
const HANDSHAKE_START: [u8; 3] = [0x16, 3, 1];

/// nginx serves requests while [`HALF_OPEN`] handshakes are unfinished. Its logs have mode 640, so
/// that only their owner and group can read them.
const WITH_HALF_OPEN: &str = r#"$ call --max-time 5 --output /dev/null --write-out '%{http_code}\n' https://orders.example.com/v1/store/orders
200
$ stat --format %a /var/log/nginx/store-orders-access.log /var/log/nginx/store-orders-error.log
640
640
"#;

/// nginx forwards a cancellation, but refuses some requests itself. Its log shows `withheld`
/// instead of a path that may contain a key.
const FORWARDED: &str = r#"$ call --request DELETE --write-out '%{http_code}\n' https://orders.example.com/v1/store/orders/1
204
$ head -c 20000 /dev/zero | call --data-binary @- https://orders.example.com/v1/x
{"code":"request_too_large","message":"No operation takes a body of this size.","status":413}
$ call --request TRACE --write-out '\n%header{allow}\n' https://orders.example.com/v1/store/orders/1
{"code":"method_not_allowed","message":"The path does not support this method.","status":405}
DELETE
$ call --http1.1 --header 'Transfer-Encoding: gzip' --data x https://orders.example.com/v1/x
{"code":"invalid_request","message":"The request is not valid HTTP, its headers are too large, or it was not sent by HTTPS.","status":400}
$ call --write-out '\n%header{strict-transport-security}\n' https://orders.example.com/v1/sto_live?sto_live
{"code":"not_found",…
max-age=31536000
$ tail -n 1 /var/log/nginx/store-orders-access.log | cut -d ' ' -f 3-5
- withheld 404
"#;

/// While the store's file is missing, nginx passes on the server's own 503.
const WITHOUT_STORE: &str = r#"$ mv /var/lib/store-orders/store.sqlite /var/lib/store-orders/away
$ until call https://orders.example.com/v1/store/orders | grep -q unavailable; do sleep 0.1; done
$ for attempt in 1 2 3; do
>   call --write-out '\n' https://orders.example.com/v1/store/orders
>   call --write-out '\n' --request DELETE https://orders.example.com/v1/store/orders/2
> done
{"code":"service_unavailable","message":"The service cannot reach its data at the moment. Try again after the seconds in Retry-After.","status":503}
{"code":"service_unavailable","message":"The service cannot reach its data at the moment. Try again after the seconds in Retry-After.","status":503}
{"code":"service_unavailable","message":"The service cannot reach its data at the moment. Try again after the seconds in Retry-After.","status":503}
{"code":"service_unavailable","message":"The service cannot reach its data at the moment. Try again after the seconds in Retry-After.","status":503}
{"code":"service_unavailable","message":"The service cannot reach its data at the moment. Try again after the seconds in Retry-After.","status":503}
{"code":"service_unavailable","message":"The service cannot reach its data at the moment. Try again after the seconds in Retry-After.","status":503}
"#;

/// If no server runs, nginx tries the server's address twice. Then nginx responds with its own 502.
/// The log shows for each attempt that no connection was opened (`-`) and that 0 bytes were sent.
/// So no server received the request.
const WITHOUT_SERVER: &str = r#"$ call --request DELETE https://orders.example.com/v1/store/orders/2?a
{"code":"service_unavailable","message":"The service cannot be reached at the moment. Try again after the seconds in Retry-After.","status":502}
$ call https://orders.example.com/v1/store/orders
{"code":"service_unavailable","message":"The service cannot be reached at the moment. Try again after the seconds in Retry-After.","status":502}
$ tail -n 2 /var/log/nginx/store-orders-access.log | cut -d ' ' -f 3-5,8-
DELETE /v1/store/orders/2 502 502 : 502 - 127.0.0.1:8080 : 127.0.0.1:8080 - : - 0 : 0
GET /v1/store/orders 502 502, 502 - 127.0.0.1:8080, 127.0.0.1:8080 -, - 0, 0
"#;

/// A server reads the cancellation and closes the connection without a response. nginx must not
/// repeat the cancellation, because the server may have executed it.
const UNANSWERED: &str = r#"$ call --request DELETE https://orders.example.com/v1/store/orders/2
{"code":"service_unavailable","message":"The service cannot be reached at the moment. Try again after the seconds in Retry-After.","status":502}
"#;

/// The system directories that the test replaces with directories of the sandbox.
const SYSTEM: [&str; 4] = ["/etc/", "/usr/local/", "/var/lib/", "/var/log/"];

struct Machine(CliSandbox);

impl Machine {
    /// Returns the path in the sandbox that replaces this system path.
    fn path(&self, path: &str) -> PathBuf {
        self.0.path(path.trim_start_matches('/'))
    }

    fn paths(&self) -> Vec<(&'static str, String)> {
        let replacement =
            |shown| (shown, format!("{}/", self.path(shown).display()).replace("//", "/"));
        SYSTEM.into_iter().map(replacement).collect()
    }

    fn with_paths(&self, text: &str) -> String {
        let replaced = |text: String, (shown, real): (&str, String)| text.replace(shown, &real);
        self.paths().into_iter().fold(text.to_string(), replaced)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn write(&self, path: &str, content: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), content).unwrap();
    }

    /// Runs a console session of the handbook page. `more` maps strings on the page to their
    /// replacements in this test.
    fn console(&self, text: &str, more: &[(&'static str, String)]) {
        let address =
            |name| more.iter().find(|(shown, _)| *shown == name).map_or("", |(_, it)| &**it);
        // The nginx configuration lists two servers, but the test runs only one, so both get its
        // address.
        let site = format!(
            "s#listen 443#listen {}#; /::/d; s/#server/server/; s#127.0.0.1:80[89]0#{}#; \
             s#/etc/ssl/#{}#; s#/var/log/#{}#; \
             s/#add_header/add_header/",
            address("127.0.0.1:443"),
            address("127.0.0.1:8080"),
            self.with_paths("/etc/ssl/"),
            self.with_paths("/var/log/"),
        );
        let setup = format!("export SITE='{site}'\n{}", self.with_paths(SETUP));
        let real = [&self.paths()[..], more].concat();
        self.0.console(&Console { page: ONE_MACHINE, text, setup: &setup, real: &real });
    }

    /// Starts the server with the settings of the unit's `EnvironmentFile`, on free ports.
    fn serve(&self) -> ServerProcess {
        let settings = self.read("/etc/store-orders/environment");
        let mut command =
            self.0.command(&["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]);
        command.envs(settings.lines().filter_map(|line| line.split_once('=')));
        command.env("STORE_ORDERS_DATA_DIR", self.path("/var/lib/store-orders"));
        ServerProcess::start(&mut command, &self.0.path("log")).unwrap()
    }

    /// Installs Debian's nginx configuration, changed so that nginx needs no root and writes only
    /// to the sandbox.
    fn install_nginx(&self) {
        let debian = fs::read_to_string("/etc/nginx/nginx.conf");
        let mut configuration = debian.unwrap_or_else(|error| {
            panic!("nginx is missing: {error}; apt-get install nginx-light")
        });
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path /var/lib/{kind};\n"))
            .concat();
        for (shown, real) in [
            ("user www-data;", ""),
            ("/var/log/", "/var/log/"),
            ("/run/nginx.pid", "/var/log/nginx/pid"),
            ("\nhttp {", &format!("\nhttp {{\n{temporary}")),
            ("/etc/nginx/sites-enabled/", "/etc/nginx/sites-enabled/"),
            ("/etc/nginx/modules-enabled/", "/etc/nginx/modules-enabled/"),
        ] {
            assert!(configuration.contains(shown), "{shown}: {configuration}");
            configuration = configuration.replace(shown, &self.with_paths(real));
        }
        for directory in ["sites-available", "sites-enabled", "modules-enabled"] {
            fs::create_dir_all(self.path("/etc/nginx").join(directory)).unwrap();
        }
        fs::create_dir_all(self.path("/var/log/nginx")).unwrap();
        fs::write(self.path("/etc/nginx/nginx.conf"), configuration).unwrap();
    }

    fn verify_units(&self) {
        let mut command = Command::new("systemd-analyze");
        command.args(["verify", "--man=no"]);
        for unit in
            ["store-orders.service", "store-orders-backup.service", "store-orders-backup.timer"]
        {
            let text = self.read(&format!("/etc/systemd/system/{unit}"));
            self.write(&format!("units/{unit}"), &self.with_paths(&text));
            command.arg(self.path("units").join(unit));
        }
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !text.contains("store-orders"), "{text}");
        for unit in ["store-orders.service", "store-orders-backup.service"] {
            let mut command = Command::new("systemd-analyze");
            command.args(["security", "--offline=yes", "--threshold=20"]);
            let output = command.arg(self.path("units").join(unit)).output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{unit}: {text}");
        }
    }
}

/// Stands in for a server that reads requests but never responds. The channel gets the beginning of
/// each request.
fn serve_without_answers(address: SocketAddr) -> Receiver<String> {
    let (listener, (sender, requests)) = (TcpListener::bind(address).unwrap(), channel());
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut request = [0; 4_096];
            let length = connection.unwrap().read(&mut request).unwrap();
            if sender.send(String::from_utf8_lossy(&request[..length]).into_owned()).is_err() {
                break;
            }
        }
    });
    requests
}

fn blocks<'a>(text: &'a str, kind: &str) -> Vec<&'a str> {
    let fence = format!("```{kind}\n");
    text.split(&*fence).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

fn sessions<const COUNT: usize>(section: &str) -> [String; COUNT] {
    consoles(ONE_MACHINE, section).try_into().unwrap()
}

#[test]
#[ignore = "needs curl, openssl, nginx, promtool and systemd-analyze: cargo xtask external-checks"]
fn with_curl_and_nginx_one_machine_is_set_up_from_nothing() {
    let machine = Machine(CliSandbox::new());
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(ONE_MACHINE)).unwrap();
    for directory in ["/usr/local/bin", "/usr/local/sbin", "/etc/systemd/system"] {
        fs::create_dir_all(machine.path(directory)).unwrap();
    }
    let release = machine.path("store-orders-2.0.0-linux-x86_64/bin");
    fs::create_dir_all(&release).unwrap();
    let program = Program::built().unwrap();
    std::os::unix::fs::symlink(program.path(), release.join("store-orders")).unwrap();
    let [installed] = sessions("The program");
    machine.console(&installed, &[]);

    let [files, ready] = sessions("The user and the server");
    machine.console(&files, &[]);
    let server = machine.serve();
    let admin = server.printed_after("admin listener on http://").unwrap().to_string();
    let nginx = free_address().unwrap();
    let mut addresses = vec![
        ("127.0.0.1:443", nginx.to_string()),
        ("127.0.0.1:8080", server.address().unwrap().to_string()),
        ("127.0.0.1:8081", admin),
    ];
    machine.console(&ready, &addresses);

    machine.install_nginx();
    let [certificate, site, refused] = sessions("TLS and nginx");
    machine.console(&certificate, &addresses);
    machine.console(&site, &addresses);
    let files =
        ["/etc/nginx/nginx.conf", "/var/log/nginx/error.log"].map(|path| machine.path(path));
    let _nginx = start_nginx(&files[0], &files[1], nginx).unwrap();
    machine.console(&refused, &addresses);

    let [account, list] = sessions("The first account and its key");
    machine.console(&account, &addresses);
    let issued = ["keys", "issue", "--account", "acme", "--json", "--data-dir"];
    let data = machine.path("/var/lib/store-orders").display().to_string();
    let issued = machine.0.run(&[&issued[..], &[&data]].concat()).json();
    addresses.push(("sto_live_…", issued["key"].as_str().unwrap().to_string()));
    machine.console(&list, &addresses);
    // The server must log the client address that nginx forwards.
    assert!(server.log().contains(r#""client":"127.0.0.2""#), "{}", server.log());

    let operating = machine.0.run(&["handbook", "operating", "Scheduled backups"]).done();
    let files: Vec<_> = ["sh", "ini"].iter().flat_map(|kind| blocks(&operating, kind)).collect();
    for file in &files {
        let path = file.lines().find_map(|line| line.strip_prefix("# /")).unwrap();
        machine.write(path, file);
    }
    assert_eq!(files.len(), 3);
    fs::create_dir_all(machine.path("/var/lib/store-orders-backups")).unwrap();
    let [backup] = sessions("Nightly backups");
    machine.console(&backup, &addresses);
    machine.verify_units();

    let [prometheus, _alertmanager] = blocks(&page, "yaml").try_into().unwrap();
    machine.write("/etc/prometheus/prometheus.yml", &machine.with_paths(prometheus));
    let [alerts] = sessions("Alerts");
    machine.console(&alerts, &[]);

    let [upgrade] = sessions("Upgrades");
    machine.console(&upgrade, &addresses);

    let through_nginx = |session| machine.console(&format!("{CALL}{session}"), &addresses);
    let half_open: Vec<_> = (0..HALF_OPEN)
        .map(|_| {
            let mut client = TcpStream::connect(nginx).unwrap();
            client.write_all(&HANDSHAKE_START).unwrap();
            client
        })
        .collect();
    through_nginx(WITH_HALF_OPEN);
    drop(half_open);
    through_nginx(FORWARDED);
    assert!(!server.log().contains("192.0.2.1"), "{}", server.log());
    through_nginx(WITHOUT_STORE);
    let address = server.address().unwrap();
    server.kill().unwrap();
    through_nginx(WITHOUT_SERVER);
    let requests = serve_without_answers(address);
    through_nginx(UNANSWERED);
    let requests: Vec<_> = requests.try_iter().collect();
    assert!(requests.len() == 1 && requests[0].starts_with("DELETE "), "{requests:?}");
}
