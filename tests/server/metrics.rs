//! Tests that `/metrics` matches the requests that were sent. The metrics must contain no text from
//! a caller.

use super::admin::{admin_origin, ask, setup};
use crate::limits::bans::BURST;
use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpStream;
use std::time::Duration;
use store_orders_api::API_VERSION;
use store_orders_api::plans::Plan;
use test_server::{TestCertificate, TestServer};
use testbed::{CliSandbox, Key, wait_until};

/// Maps the name and labels of each sample to its value. The names lack the prefix `store_orders_`.
type Samples = BTreeMap<String, f64>;

async fn samples(server: &TestServer) -> Samples {
    let (_, text) = scrape(server, "*/*").await;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let service_samples = lines.filter_map(|line| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        let name = name.strip_prefix("store_orders_")?;
        Some((name.to_string(), value.parse().unwrap()))
    });
    service_samples.collect()
}

async fn scrape(server: &TestServer, accept: &str) -> (String, String) {
    let url = format!("{}/metrics", admin_origin(server));
    let answer = reqwest::Client::new().get(url).header("accept", accept).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let content_type = answer.headers()["content-type"].to_str().unwrap().to_string();
    (content_type, answer.text().await.unwrap())
}

/// A scraper gets the text format of Prometheus whatever its `Accept` header says.
#[tokio::test]
async fn a_scrape_is_in_the_text_format() {
    let server = setup().serve().await;
    for accept in ["*/*", "application/openmetrics-text"] {
        let (content_type, text) = scrape(&server, accept).await;
        assert_eq!(content_type, "text/plain; version=0.0.4; charset=utf-8");
        assert!(!text.contains("# UNIT") && !text.contains("# EOF"), "{text}");
    }
}

/// Dashboards and alerts of operators depend on the names and labels of metrics.
#[tokio::test]
async fn names_labels_types_and_help_of_metrics_are_stable() {
    let server = setup().with_certificate(TestCertificate::new()).serve().await;
    // Send a request, because the counter of requests has no sample before the first request.
    server.send("GET", "/changelog", &[]).await;
    let (_, text) = scrape(&server, "text/plain").await;
    let mut families: BTreeMap<String, (String, String, BTreeSet<String>)> = BTreeMap::new();
    for line in text.lines() {
        if let Some(described) = line.strip_prefix("# HELP ") {
            let (name, help) = described.split_once(' ').unwrap();
            families.entry(name.to_string()).or_default().1 = help.to_string();
        } else if let Some(described) = line.strip_prefix("# TYPE ") {
            let (name, kind) = described.split_once(' ').unwrap();
            families.entry(name.to_string()).or_default().0 = kind.to_string();
        } else {
            let (sample, labels) = labels_of(line);
            let endings = ["_count", "_sum", "_bucket", ""];
            let mut names = endings.iter().filter_map(|ending| sample.strip_suffix(ending));
            let family = names.find(|name| families.contains_key(*name)).unwrap();
            families.get_mut(family).unwrap().2.extend(labels);
        }
    }
    let listed: String = families
        .iter()
        .map(|(name, (kind, help, labels))| {
            let labels = labels.iter().map(String::as_str).collect::<Vec<_>>().join(",");
            format!("{name} {kind} {{{labels}}} {help}\n")
        })
        .collect();
    assert_eq!(listed, METRICS);
}

fn labels_of(sample: &str) -> (&str, Vec<String>) {
    let (name, _value) = sample.rsplit_once(' ').unwrap();
    let Some((name, labels)) = name.split_once('{') else { return (name, Vec::new()) };
    let labels = labels.strip_suffix('}').unwrap().split(',');
    (name, labels.map(|label| label.split_once('=').unwrap().0.to_string()).collect())
}

const METRICS: &str = "\
process_cpu_seconds_total counter {} User and system CPU time spent.
process_max_fds gauge {} File descriptors that may be open.
process_open_fds gauge {} Open file descriptors.
process_resident_memory_bytes gauge {} Resident memory.
process_start_time_seconds gauge {} Start, in Unix time.
process_virtual_memory_bytes gauge {} Virtual memory.
store_orders_banned_requests_total counter {plan} Requests refused because their key was banned.
store_orders_bans_total counter {} Bans of keys that have begun.
store_orders_build_info gauge {api_version,version} The program that runs, and the API that it serves.
store_orders_certificate_expiry_timestamp_seconds gauge {} When the TLS certificate in use ends, in Unix time.
store_orders_commit_batch_size histogram {le} Cancellations in one transaction.
store_orders_last_backup_timestamp_seconds gauge {} When the data directory was last backed up with the command backup, in Unix time; 0 if never.
store_orders_limited_requests_total counter {plan,window} Requests refused because a window was exhausted; without a valid key the plan is none.
store_orders_list_lag_seconds gauge {} How long the list in memory has lacked a change of the store; each request for a list waits for what it lacks.
store_orders_lists_cut_off_total counter {} Lists that were cut off because outdated lists held too much memory.
store_orders_log_lines_dropped_total counter {} Lines that could not be written to the log.
store_orders_open_connections gauge {} Connections that are open to the listener of the API.
store_orders_orders gauge {state} Orders that are listed.
store_orders_outdated_list_bytes gauge {} Memory that outdated lists hold while clients read them.
store_orders_ready gauge {} 1 if requests should be sent to this server, as /readyz says.
store_orders_request_latency_seconds histogram {le,route} From a request's arrival to the first byte of its answer.
store_orders_requests_total counter {method,route,status} Requests that were answered, or abandoned by their client (499).
store_orders_running_batch_age_seconds gauge {} How long the running batch of cancellations has been under way.
store_orders_standbys_confirming gauge {} Synchronous standbys that can confirm a commit of the store.
store_orders_standbys_required gauge {} Synchronous standbys that must confirm each commit of the store.
store_orders_store_damaged gauge {} 1 if the store was found damaged, while it was read or by the check after the start.
store_orders_store_reachable gauge {} 1 if the store answers this server.
store_orders_unready gauge {reason} 1 for the reason why the server is not ready.
";

/// The column "Meaning" of the handbook's table contains the help texts of the metrics.
#[test]
fn the_handbook_lists_every_metric() {
    let page = include_str!("../../src/handbook/operating.md");
    let rows = page.split("\n## Metrics\n").nth(1).unwrap().lines();
    let rows = rows.skip_while(|line| !line.starts_with("|---")).skip(1);
    let listed: Vec<&str> = rows.take_while(|line| line.starts_with('|')).collect();
    let expected = METRICS.lines().map(|line| {
        let (start, rest) = line.split_once(" {").unwrap();
        let (name, kind) = start.split_once(' ').unwrap();
        let (labels, help) = rest.split_once("} ").unwrap();
        // All histograms have the label `le`, so the table leaves this label out.
        let labels = labels.split(',').filter(|label| !["", "le"].contains(label));
        let labels = labels.map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", ");
        format!("| `{name}` | {kind} | {labels} | {help} |")
    });
    let expected = expected.collect::<Vec<_>>().join("\n");
    assert_eq!(
        listed.join("\n"),
        expected,
        "replace the table of src/handbook/operating.md by:\n{expected}\n"
    );
}

#[tokio::test]
async fn alerts_and_the_dashboard_name_metrics_that_exist() {
    let setup = setup().with_certificate(TestCertificate::new());
    setup.pending(1..=1);
    let server = setup.serve().await;
    // Send a request, because the counter of requests has no sample before the first one.
    server.send("GET", "/changelog", &[]).await;
    let (_, text) = scrape(&server, "text/plain").await;
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    let exist: BTreeSet<&str> =
        samples.map(|line| line.split(['{', ' ']).next().unwrap()).collect();
    let [alerts, dashboard] =
        ["alerts", "dashboard"].map(|command| CliSandbox::new().run(&[command]).done());
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard).unwrap();
    let dashboard = dashboard.to_string();
    for (what, text) in [("alerts", &alerts), ("dashboard", &dashboard)] {
        let words = text.split(|character: char| {
            !(character.is_ascii_lowercase() || character.is_ascii_digit() || character == '_')
        });
        let is_name =
            |word: &&str| word.starts_with("store_orders_") || word.starts_with("process_");
        let named: BTreeSet<&str> = words.filter(is_name).collect();
        assert!(named.len() > 9, "{what}: {named:?}");
        let missing: Vec<_> = named.difference(&exist).collect();
        assert!(missing.is_empty(), "{what}: {missing:?} of {exist:?}");
    }
}

#[tokio::test]
async fn connections_and_the_process_are_measured() {
    let server = setup().serve().await;
    let before = samples(&server).await["open_connections"];
    let connection = TcpStream::connect(server.direct_address()).unwrap();
    let is_open = async |open: f64| samples(&server).await["open_connections"] == open;
    wait_until("a connection is open", || is_open(before + 1.0)).await;
    drop(connection);
    wait_until("the connection is closed", || is_open(before)).await;
    let (_, text) = scrape(&server, "*/*").await;
    for name in ["cpu_seconds_total", "resident_memory_bytes", "open_fds", "start_time_seconds"] {
        assert!(text.contains(&format!("\nprocess_{name} ")), "{name}: {text}");
    }
    assert!(!text.contains("certificate_expiry"), "{text}");
}

fn counted(samples: &Samples, name: &str) -> Vec<(String, f64)> {
    let named = samples.iter().filter_map(|(sample, value)| {
        let labels = sample.strip_prefix(name)?;
        Some((labels.to_string(), *value))
    });
    named.filter(|(_, value)| *value > 0.0).collect()
}

fn expected(counts: &[(&str, f64)]) -> Vec<(String, f64)> {
    let mut counts: Vec<_> =
        counts.iter().map(|(labels, count)| (format!("{{{labels}}}"), *count)).collect();
    counts.sort_by(|one, other| one.0.cmp(&other.0));
    counts
}

async fn send(server: &TestServer, key: &Key, requests: &[(&str, &str, u16, usize)]) {
    for (method, path, status, times) in requests {
        for _ in 0..*times {
            let answer = server.send_with(key, method, path).await;
            assert_eq!(answer.status.as_u16(), *status, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn requests_are_counted_by_route_method_and_status() {
    let setup = setup();
    setup.pending(1..=9).shipped(10).pet(7, "Rex");
    let key = setup.key(Plan::Business);
    let server = setup.serve().await;
    let requests = [
        ("GET", "/v1/store/orders", 200, 3),
        ("HEAD", "/v1/store/orders", 200, 2),
        ("DELETE", "/v1/store/orders/1", 204, 1),
        ("DELETE", "/v1/store/orders/2", 204, 1),
        ("DELETE", "/v1/store/orders/1", 404, 1),
        ("DELETE", "/v1/store/orders/10", 409, 1),
        ("DELETE", "/v1/store/orders/x", 400, 2),
        ("GET", "/v2/store/orders?limit=2", 200, 2),
        ("GET", "/v2/store/orders?limit=0", 400, 1),
        ("DELETE", "/v2/store/orders/3", 204, 1),
        ("GET", "/v1/pets/7", 200, 1),
        ("GET", "/v1/pets/8", 404, 1),
        ("PUT", "/v1/store/orders", 405, 1),
        ("GET", "/v1/no/such/path", 404, 4),
        ("GET", "/v1/no/other/path", 404, 1),
        ("GET", "/openapi.json", 200, 2),
    ];
    send(&server, &key, &requests).await;
    assert_eq!(server.send("GET", "/v1/store/orders", &[]).await.status, 401);
    let tag = server.send("GET", "/changelog", &[]).await.text("etag").to_string();
    let unchanged = server.send("GET", "/changelog", &[("if-none-match", &tag)]).await;
    assert_eq!(unchanged.status, 304);
    assert_eq!(server.send("GET", "/docs/", &[]).await.status, 308);
    let metrics = samples(&server).await;
    assert_eq!(
        counted(&metrics, "requests_total"),
        expected(&[
            (r#"method="GET",route="listOrders",status="200""#, 3.0),
            (r#"method="HEAD",route="listOrders",status="200""#, 2.0),
            (r#"method="GET",route="listOrders",status="401""#, 1.0),
            (r#"method="DELETE",route="cancelOrder",status="204""#, 2.0),
            (r#"method="DELETE",route="cancelOrder",status="404""#, 1.0),
            (r#"method="DELETE",route="cancelOrder",status="409""#, 1.0),
            (r#"method="DELETE",route="cancelOrder",status="400""#, 2.0),
            (r#"method="GET",route="v2/listOrders",status="200""#, 2.0),
            (r#"method="GET",route="v2/listOrders",status="400""#, 1.0),
            (r#"method="DELETE",route="v2/cancelOrder",status="204""#, 1.0),
            (r#"method="GET",route="getPet",status="200""#, 1.0),
            (r#"method="GET",route="getPet",status="404""#, 1.0),
            (r#"method="PUT",route="unknown",status="405""#, 1.0),
            (r#"method="GET",route="unknown",status="404""#, 5.0),
            (r#"method="GET",route="public",status="200""#, 3.0),
            (r#"method="GET",route="public",status="304""#, 1.0),
            (r#"method="GET",route="public",status="308""#, 1.0),
        ])
    );
    let latencies = [
        (r#"route="listOrders""#, 6.0),
        (r#"route="cancelOrder""#, 6.0),
        (r#"route="getPet""#, 2.0),
        (r#"route="v2/listOrders""#, 3.0),
        (r#"route="v2/cancelOrder""#, 1.0),
        (r#"route="unknown""#, 6.0),
        (r#"route="public""#, 5.0),
    ];
    assert_eq!(counted(&metrics, "request_latency_seconds_count"), expected(&latencies));
    for (route, count) in latencies {
        assert!(metrics[&format!("request_latency_seconds_sum{{{route}}}")] > 0.0, "{route}");
        assert_eq!(
            metrics[&format!("request_latency_seconds_bucket{{{route},le=\"+Inf\"}}")],
            count
        );
    }
    assert_eq!(counted(&metrics, "limited_requests_total"), []);
    let version = env!("CARGO_PKG_VERSION");
    let build = format!(r#"build_info{{api_version="{API_VERSION}",version="{version}"}}"#);
    assert_eq!(metrics[&build], 1.0);
    assert_eq!(metrics["log_lines_dropped_total"], 0.0);
}

#[tokio::test]
async fn refusals_are_counted_by_plan_and_window() {
    let setup = setup().with_unauthenticated_per_minute(2);
    let (minute, day) = (setup.enterprise_key(3, 100), setup.enterprise_key(100, 2));
    let free = setup.key(Plan::Free);
    let server = setup.serve().await;
    let list = "/v1/store/orders";
    // A refusal after the burst time is a strike. The third strike starts a ban, because the limit
    // is 3 per minute.
    send(&server, &minute, &[("GET", list, 200, 3), ("GET", list, 429, 1)]).await;
    server.setup.clock.advance(BURST);
    send(&server, &minute, &[("GET", list, 429, 4)]).await;
    send(&server, &day, &[("GET", list, 200, 2), ("GET", list, 429, 4)]).await;
    send(&server, &free, &[("GET", list, 200, 60), ("GET", list, 429, 1)]).await;
    for status in [401, 401, 429, 429] {
        assert_eq!(server.send("GET", list, &[]).await.status, status);
    }
    let metrics = samples(&server).await;
    assert_eq!(
        counted(&metrics, "limited_requests_total"),
        expected(&[
            (r#"plan="enterprise",window="minute""#, 3.0),
            (r#"plan="enterprise",window="day""#, 4.0),
            (r#"plan="free",window="minute""#, 1.0),
            (r#"plan="none",window="minute""#, 2.0),
        ])
    );
    assert_eq!(
        counted(&metrics, "banned_requests_total"),
        expected(&[(r#"plan="enterprise""#, 2.0)])
    );
    assert_eq!(metrics["bans_total"], 1.0);
    assert_eq!(metrics[r#"requests_total{method="GET",route="listOrders",status="429"}"#], 12.0);

    // `bans_total` also counts a further ban of the same key.
    server.setup.clock.advance(Duration::from_secs(301));
    send(&server, &minute, &[("GET", list, 200, 3), ("GET", list, 429, 1)]).await;
    server.setup.clock.advance(BURST);
    send(&server, &minute, &[("GET", list, 429, 3)]).await;
    assert_eq!(samples(&server).await["bans_total"], 2.0);
}

#[tokio::test]
async fn orders_are_counted_by_state_and_cancellations_by_batch() {
    let setup = setup();
    setup.pending(1..=20).shipped(100).shipped(101);
    let key = setup.key(Plan::Business);
    let server = setup.serve().await;
    let states = async || counted(&samples(&server).await, "orders{");
    let state = |state: &str, count| (format!("state=\"{state}\"}}"), count);
    assert_eq!(states().await, [state("pending", 20.0), state("shipped", 2.0)]);
    for id in 1..=3 {
        let path = format!("/v1/store/orders/{id}");
        assert_eq!(server.send_with(&key, "DELETE", &path).await.status, 204);
    }
    assert_eq!(states().await, [state("pending", 17.0), state("shipped", 2.0)]);
    let metrics = samples(&server).await;
    assert_eq!(metrics["commit_batch_size_count"], 3.0);
    assert_eq!(metrics["commit_batch_size_sum"], 3.0);
    assert_eq!(metrics[r#"commit_batch_size_bucket{le="1"}"#], 3.0);

    let client = server.client(&key);
    futures::future::join_all((4..=20).map(|id| {
        let client = client.clone();
        async move { client.cancel_order(id).await.unwrap() }
    }))
    .await;
    let metrics = samples(&server).await;
    assert_eq!(metrics["commit_batch_size_sum"], 20.0);
    let batches = metrics["commit_batch_size_count"];
    assert_eq!(metrics[r#"commit_batch_size_bucket{le="+Inf"}"#], batches);
}

#[tokio::test]
async fn metrics_contain_nothing_that_a_caller_chose() {
    let setup = setup();
    let key = setup.key(Plan::Free);
    let server = setup.serve().await;
    let before: Vec<_> = samples(&server).await.into_keys().collect();
    for path in ["/v1/mark-me", "/v1/store/orders/mark-me", "/mark-me", "/v1/mark-me?mark-me=1"] {
        for method in ["GET", "DELETE", "PATCH"] {
            server.send_with(&key, method, path).await;
            let headers = [("user-agent", "mark-me"), ("host", "mark-me")];
            server.send(method, path, &headers).await;
        }
    }
    let (_, text) = ask(&admin_origin(&server), "/metrics").await;
    assert!(!text.contains("mark-me") && !text.contains("sto_") && !text.contains("key_"));
    assert!(!text.contains("127.0.0.1") && !text.contains("free-0"));
    let after: Vec<_> = samples(&server).await.into_keys().collect();
    let new: Vec<_> = after.iter().filter(|sample| !before.contains(sample)).collect();
    assert!(new.iter().all(|sample| sample.starts_with("requests_total{")), "{new:?}");
    assert!((1..=12).contains(&new.len()), "{new:?}");
}
