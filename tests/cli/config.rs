//! Tests the order of precedence of settings, and the errors for invalid settings.

use std::path::Path;
use store_orders::config::all_settings;
use test_server::TestCertificate;
use testbed::{CliSandbox, ServerProcess, Signal, str};

/// The handbook has a copy of the default settings file, for readers who have not installed the
/// program.
#[test]
fn the_handbooks_default_file_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/handbook/store-orders.toml");
    let current = CliSandbox::new().run(&["config", "default"]).done();
    if std::env::var("SNAPSHOTS").is_ok_and(|action| action == "overwrite") {
        std::fs::write(&path, &current).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap() == current,
        "src/handbook/store-orders.toml is not the output of `store-orders config default`; fix: \
         SNAPSHOTS=overwrite cargo test --workspace --test store_orders default_file_is_current"
    );
}

#[test]
fn flags_override_the_environment_the_file_and_the_defaults() {
    let sandbox = CliSandbox::new();
    sandbox.write(
        "a.toml",
        "# mine\nunauthenticated_per_minute = 1\ntrusted_proxies = [\"10.0.0.0/8\"]\n",
    );
    sandbox.session(str![[r#"
$ SHOWN='unauthenticated_per_minute|trusted_proxies'
$ store-orders config show | grep -E $SHOWN
unauthenticated_per_minute  1000                 default
trusted_proxies             -                    default
$ store-orders config show --config a.toml | grep -E $SHOWN
unauthenticated_per_minute  1                    a.toml:2
trusted_proxies             10.0.0.0/8           a.toml:3
$ STORE_ORDERS_CONFIG=a.toml store-orders config show | grep -E $SHOWN
unauthenticated_per_minute  1                    a.toml:2
trusted_proxies             10.0.0.0/8           a.toml:3
$ export STORE_ORDERS_UNAUTHENTICATED_PER_MINUTE=2
$ export STORE_ORDERS_TRUSTED_PROXIES=10.1.0.0/16,10.2.0.0/16
$ store-orders config show --config a.toml | grep -E $SHOWN
unauthenticated_per_minute  2                         environment STORE_ORDERS_UNAUTHENTICATED_PER_MINUTE
trusted_proxies             10.1.0.0/16, 10.2.0.0/16  environment STORE_ORDERS_TRUSTED_PROXIES
$ store-orders config show --config a.toml --unauthenticated-per-minute 3 --json | grep -E $SHOWN
{"key":"unauthenticated_per_minute","value":3,"origin":"flag"},
{"key":"trusted_proxies","value":["10.1.0.0/16","10.2.0.0/16"],"origin":"environment STORE_ORDERS_TRUSTED_PROXIES"},
"#]]);
}

#[tokio::test]
async fn the_server_uses_the_settings_of_the_file() {
    let sandbox = CliSandbox::new();
    let settings =
        "listen = \"127.0.0.1:0\"\nunauthenticated_per_minute = 2\nlog_level = \"off\"\n";
    sandbox.write("a.toml", settings);
    let quiet = sandbox.serve(&["--config", "a.toml"]);
    let mut statuses = Vec::new();
    for _ in 0..3 {
        let answer = reqwest::get(format!("{}/store/orders", quiet.base_url())).await.unwrap();
        statuses.push(answer.status().as_u16());
    }
    assert_eq!(statuses, [401, 401, 429]);
    assert_eq!(quiet.kill().unwrap(), "");
}

#[test]
fn errors_of_settings_name_file_line_and_key() {
    let sandbox = CliSandbox::new();
    sandbox.write("unknown.toml", "\nlisten = \"127.0.0.1:0\"\nliste = 1\n");
    sandbox
        .write("network.toml", "trusted_proxies = [\n  \"10.0.0.0/8\",\n  \"10.0.0.0/99\",\n]\n");
    sandbox.write("half.toml", "log_level = \"info\"\ntls_cert = \"cert.pem\"\n");
    sandbox.write("twice.toml", "listen = \"0.0.0.0:9000\"\nadmin_listen = \"127.0.0.1:9000\"\n");
    let store = "store = \"postgres://u@127.0.0.1:1/d\"\n";
    sandbox.write("counts.toml", "limits_database = \"counts\"\n");
    sandbox.write("shared.toml", format!("{store}limits_database = \"counts\"\n"));
    sandbox.write("own.toml", format!("{store}limits_database = \"d\"\n"));
    sandbox.write("empty.toml", "data_dir = \"\"\n");
    sandbox.write("sound.toml", "listen = \"127.0.0.1:0\"\n");
    sandbox.session(str![[r#"
$ for name in unknown network half twice counts own empty none; do
>   store-orders config check $name.toml
> done
(1) error: unknown.toml:3: liste: unknown setting; did you mean listen?
(1) error: network.toml:3: trusted_proxies: invalid value "10.0.0.0/99": write a network such as 10.0.0.0/8 or fd00::/8, or one address such as 192.0.2.7/32
(1) error: half.toml:2: tls_cert: --tls-cert also needs --tls-key
(1) error: twice.toml:2: admin_listen: the same address as listen; choose another port
(1) error: counts.toml:1: limits_database: only servers on PostgreSQL count in a database; name the store's with store
(1) error: limits_database: the store's own database; the request counts need another one
(1) error: empty.toml:1: data_dir: invalid value "": it is empty; leave the setting out for its default
(1) error: none.toml: cannot be read: No such file or directory (os error 2)
$ test ! -e store-orders-data
$ store-orders config check shared.toml
shared.toml: the settings are valid
$ store-orders config check sound.toml --json
{"file":"sound.toml","usable":true}
$ store-orders config check --store postgres://u@127.0.0.1:1/d
the settings are valid; no file was named
"#]]);
    for name in ["unknown", "network", "half", "twice", "counts", "none"] {
        let checked = sandbox.run(&["config", "check", &format!("{name}.toml")]).error();
        let served = sandbox.run(&["serve", "--config", &format!("{name}.toml")]).failed_server();
        assert_eq!(served, checked);
    }
}

#[test]
fn errors_of_settings_name_the_flag_or_the_variable() {
    let sandbox = CliSandbox::new();
    // A command ignores invalid settings that it does not use.
    sandbox.session(str![[r#"
$ store-orders config check --tls-key key.pem
(1) error: --tls-key: --tls-key also needs --tls-cert
$ STORE_ORDERS_TLS_CERT=cert.pem store-orders config check
(1) error: STORE_ORDERS_TLS_CERT: --tls-cert also needs --tls-key
$ STORE_ORDERS_LISTEN=here store-orders accounts create acme --plan pro
created a new store in [DIRECTORY]/store-orders-data
created account "acme": pro, 300 requests a minute, 10000 a day
$ STORE_ORDERS_LISTEN=here store-orders serve
(1) {"time":"YYYY-MM-DDThh:mm:ssZ","level":"ERROR","msg":"serve failed","error":"STORE_ORDERS_LISTEN: invalid value \"here\": no port; write HOST:PORT, such as 127.0.0.1:8080, [::1]:8080 or localhost:8080, or :8080 for every IPv4 address"}
"#]]);
}

#[test]
fn config_check_warns_if_the_documents_have_no_address_for_other_machines() {
    let sandbox = CliSandbox::new();
    let warning = "warning: the served documents have no address that clients outside this machine \
                   can use; fix: set --production-url or --staging-url, such as \
                   https://orders.example.com/v1\n";
    let url = ["--staging-url", "https://orders.test/v1"];
    for (flags, is_warned) in [
        (&[][..], false),
        (&["--listen", "0.0.0.0:8080"], true),
        (&["--trusted-proxy", "127.0.0.1/32"], true),
        (&["--listen", "0.0.0.0:8080", url[0], url[1]], false),
    ] {
        let checked = sandbox.run(&[&["config", "check"], flags].concat());
        let expected = if is_warned { warning } else { "" };
        assert_eq!((checked.status, &*checked.stderr), (0, expected), "{flags:?}");
    }
}

#[test]
fn config_check_refuses_what_serve_refuses() {
    let sandbox = CliSandbox::new();
    for name in ["cert.pem", "key.pem"] {
        sandbox.write(name, TestCertificate::new().pem);
    }
    sandbox.write("other.pem", TestCertificate::new().key);
    let url = "postgres://u@127.0.0.1:1/d";
    let with_root = format!("{url}?sslmode=verify-full&sslrootcert=none.pem");
    let cases: [(&[&str], &str); 9] = [
        (&["--tls-cert", "none.pem", "--tls-key", "key.pem"], "--tls-cert: cannot read none.pem: "),
        (&["--tls-cert", "cert.pem", "--tls-key", "key.pem"], "--tls-cert: key.pem holds no "),
        (
            &["--tls-cert", "cert.pem", "--tls-key", "other.pem"],
            "--tls-cert: cert.pem and other.pem cannot be used together: ",
        ),
        (&["--store", &with_root], "--store: none.pem cannot be used: "),
        (
            &["--store", url, "--store-password-file", "none"],
            "store_password_file: none cannot be read: ",
        ),
        (&["--data-dir", "cert.pem"], "cannot use the data directory cert.pem: it is a file"),
        (&["--listen", "no-such-host.invalid:1"], "cannot listen on no-such-host.invalid:1: "),
        (
            &["--listen", "localhost:9000", "--admin-listen", "127.0.0.1:9000"],
            "--admin-listen: the same address as listen",
        ),
        (&["--listen", "127.0.0.1:8081"], "admin_listen: the same address as listen"),
    ];
    for (flags, begin) in cases {
        let checked = sandbox.run(&[&["config", "check"], flags].concat()).error();
        let served = sandbox.run(&[&["serve"], flags].concat()).failed_server();
        assert!(checked.starts_with(begin), "{checked}");
        assert_eq!(served, checked);
    }
    assert!(!sandbox.path("store-orders-data").exists());
}

#[test]
fn only_serve_and_config_check_resolve_host_names() {
    let sandbox = CliSandbox::new();
    let names = "listen = \"no-such-host.invalid:1\"\nadmin_listen = \"no-such-host.invalid:2\"\n";
    sandbox.write("a.toml", names);
    sandbox.import_pending([1]);
    sandbox.session(str![[r#"
$ store-orders backup b.sqlite --config a.toml
wrote b.sqlite: [..]
$ store-orders config show --config a.toml | grep listen
listen                      no-such-host.invalid:1  a.toml:1
admin_listen                no-such-host.invalid:2  a.toml:2
$ store-orders config check a.toml
(1) error: 2 invalid settings:
(1)   cannot listen on no-such-host.invalid:1: [..]; fix: choose another address with --listen
(1)   cannot listen on no-such-host.invalid:2: [..]; fix: choose another address with --admin-listen
"#]]);
}

#[test]
fn unknown_variables_are_named_in_a_warning() {
    let sandbox = CliSandbox::new();
    let environment = [
        ("STORE_ORDERS_LISTN", "secret"),
        ("STORE_ORDERS_COLOUR", "secret"),
        ("STORE_ORDERS_LOG_LEVEL", "warning"),
        ("STORE_ORDERS_CONFIG", "a.toml"),
    ];
    sandbox.write("a.toml", "");
    let named = "STORE_ORDERS_COLOUR, STORE_ORDERS_LISTN (did you mean STORE_ORDERS_LISTEN?)";
    let checked = sandbox.run_with(&["config", "check"], &environment);
    let warning = format!("warning: unknown settings in the environment ignored: {named}\n");
    assert_eq!((checked.status, checked.stderr), (0, warning));
    let mut serve = sandbox.command(&["serve", "--listen", "127.0.0.1:0", "--admin-listen", "off"]);
    let server = ServerProcess::start(serve.envs(environment), &sandbox.path("log")).unwrap();
    server.signal(Signal::TERM).unwrap();
    let log = server.wait().unwrap().1;
    assert!(log.contains(named) && log.contains("\"WARN\"") && !log.contains("secret"), "{log}");
}

/// A deployment or an environment file may set a variable to an empty value, such as
/// `STORE_ORDERS_TLS_CERT=`.
#[test]
fn an_empty_variable_counts_as_unset() {
    let sandbox = CliSandbox::new();
    sandbox.write("a.toml", "unauthenticated_per_minute = 7\n");
    let others = ["PGPASSWORD", "STORE_ORDERS_COLOUR", "STORE_ORDERS_STOP_WITHIN"];
    let mut variables = others.map(str::to_string).to_vec();
    variables.extend(
        all_settings().get_arguments().filter_map(|arg| {
            arg.get_env().map(|variable| variable.to_string_lossy().into_owned())
        }),
    );
    let empty: Vec<(&str, &str)> = variables.iter().map(|name| (name.as_str(), "")).collect();
    for command in [
        &["config", "show", "--json"][..],
        &["config", "show", "--json", "--config", "a.toml"],
        &["config", "check"],
    ] {
        let output = sandbox.run_with(command, &empty);
        assert_eq!((output.status, &*output.stderr), (0, ""), "{command:?}");
        assert_eq!(output.stdout, sandbox.run(command).stdout);
    }
    let no_file = sandbox.run_with(&["config", "show"], &[("STORE_ORDERS_CONFIG", "")]);
    assert_eq!((no_file.status, &*no_file.stderr), (0, ""));
}

/// Kubernetes sets these variables in containers if services are named `store-orders` and
/// `store-orders-admin`.
#[test]
fn variables_of_kubernetes_services_cause_no_warning() {
    let address = "tcp://10.96.7.1:8080";
    let variables = [
        ("STORE_ORDERS_SERVICE_HOST", "10.96.7.1"),
        ("STORE_ORDERS_SERVICE_PORT", "8080"),
        ("STORE_ORDERS_SERVICE_PORT_HTTP", "8080"),
        ("STORE_ORDERS_PORT", address),
        ("STORE_ORDERS_PORT_8080_TCP", address),
        ("STORE_ORDERS_PORT_8080_TCP_PROTO", "tcp"),
        ("STORE_ORDERS_PORT_8080_TCP_PORT", "8080"),
        ("STORE_ORDERS_PORT_8080_TCP_ADDR", "10.96.7.1"),
        ("STORE_ORDERS_ADMIN_SERVICE_HOST", "10.96.7.2"),
        ("STORE_ORDERS_ADMIN_PORT", address),
    ];
    let checked = CliSandbox::new().run_with(&["config", "check"], &variables);
    assert_eq!((checked.status, &*checked.stderr), (0, ""));
}

#[test]
fn the_default_file_can_be_used_as_it_is() {
    let sandbox = CliSandbox::new();
    sandbox.write("default.toml", sandbox.run(&["config", "default"]).done());
    sandbox.run(&["config", "check", "default.toml"]).done();
    let with = sandbox.run(&["config", "show", "--json", "--config", "default.toml"]).json();
    assert_eq!(with, sandbox.run(&["config", "show", "--json"]).json());
}

#[test]
fn no_command_shows_the_password_of_a_store() {
    let sandbox = CliSandbox::new();
    let hidden = |text: &str, mark: &str| {
        assert!(!text.contains("secret") && text.contains(mark), "{text}");
    };
    for (url, shown) in [
        ("postgres://u:it's-secret@127.0.0.1:1/d", "postgres://u:***@127.0.0.1:1/d"),
        ("postgres://127.0.0.1:1/d?user=u&password=it's-secret", "postgres://u:***@127.0.0.1:1/d"),
    ] {
        hidden(&sandbox.run(&["config", "show", "--store", url]).done(), shown);
        hidden(&sandbox.run(&["config", "show", "--json", "--store", url]).done(), shown);
        let environment = [("STORE_ORDERS_STORE", url)];
        hidden(&sandbox.run_with(&["config", "show"], &environment).done(), shown);
        // The server keeps trying to reach its store and logs the cause of the failure. The log
        // must not contain the password either.
        let server = sandbox.serve(&["--listen", "127.0.0.1:0", "--store", url]);
        server.signal(Signal::TERM).unwrap();
        hidden(&server.wait().unwrap().1, "127.0.0.1:1");
        for command in [&["orders", "list"][..], &["check"], &["status"], &["migrate"]] {
            let command = [command, &["--store", url]].concat();
            hidden(&sandbox.run(&command).unavailable(), "127.0.0.1:1");
        }
    }
    let url = "postgres://u@127.0.0.1:1/d";
    let missing = ["orders", "list", "--store", url, "--store-password-file", "no-such-file"];
    hidden(&sandbox.run(&missing).error(), "no-such-file cannot be read");
    for url in [
        "postgres://u:pa?ss-secret@h/d",
        "postgres://u:it's-secret@h:x/d",
        "postgres://h/d?sslpassword=it's-secret",
        "postgres://u:it's-secret@h/d?sslmode=wrong",
    ] {
        hidden(&sandbox.run(&["config", "show", "--store", url]).usage(), "invalid value '***'");
        let environment = [("STORE_ORDERS_STORE", url)];
        let logged = sandbox.run_with(&["serve"], &environment).failed_server();
        hidden(&logged, "STORE_ORDERS_STORE: invalid value \"***\": ");
        sandbox.write("a.toml", format!("store = \"{url}\"\n"));
        hidden(&sandbox.run(&["config", "check", "a.toml"]).error(), "a.toml:1: ");
    }
}

#[test]
fn an_invalid_setting_of_a_server_is_logged_whatever_its_source() {
    let sandbox = CliSandbox::new();
    sandbox.write("a.toml", "listen = \"here\"\n");
    // The last two commands have an invalid syntax, so their errors are printed as text.
    sandbox.session(str![[r#"
$ store-orders serve --listen here
(2) {"time":"YYYY-MM-DDThh:mm:ssZ","level":"ERROR","msg":"serve failed","error":"--listen: invalid value \"here\": no port; write HOST:PORT, such as 127.0.0.1:8080, [::1]:8080 or localhost:8080, or :8080 for every IPv4 address"}
$ store-orders serve --config a.toml
(1) {"time":"YYYY-MM-DDThh:mm:ssZ","level":"ERROR","msg":"serve failed","error":"a.toml:1: listen: invalid value \"here\": no port; write HOST:PORT, such as 127.0.0.1:8080, [::1]:8080 or localhost:8080, or :8080 for every IPv4 address"}
$ store-orders serve --log-level loud
(2) {"time":"YYYY-MM-DDThh:mm:ssZ","level":"ERROR","msg":"serve failed","error":"--log-level: invalid value \"loud\": must be one of off, error, warning, info, debug"}
$ store-orders serve --lisen here
(2) error: unexpected argument '--lisen' found
(2) 
(2)   tip: a similar argument exists: '--listen'
$ store-orders serve --listen
(2) error: a value is required for '--listen <HOST:PORT>' but none was supplied
"#]]);
}
