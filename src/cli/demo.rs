//! `demo`: the whole service in one command, with sample data.

use super::serve::{HangUp, ServedStore, run};
use crate::api_key::Environment;
use crate::clock::{Clock, SystemClock};
use crate::config::{AdminListen, ListenAddress, LogLevel, ServerConfig};
use crate::store::sqlite::SqliteStore;
use crate::store::{IssuedKey, NewKey, OperatorStore, Order, OrderStatus, Records, StoreError};
use anyhow::Context;
use chrono::{DateTime, TimeDelta, Utc};
use clap::Args;
use slog::Logger;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;
use store_orders_api::BASE_PATH;
use store_orders_api::plans::Plan;
use store_orders_api::types::Pet;

/// The names of the pets, which [`order`] assigns in turn. Every third order is shipped, and 13 is
/// not a multiple of 3. So each pet gets shipped and pending orders.
const PETS: [&str; 13] = [
    "Rex", "Minka", "Bella", "Oskar", "Luna", "Balu", "Emma", "Felix", "Nala", "Bruno", "Kira",
    "Paulchen", "Mia",
];
const ORDERS: i64 = 48;

/// The shutdown timeout. It is shorter than the default of `serve`, because the demo's data is not
/// kept.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Args, Debug)]
pub struct DemoArgs {
    /// Address to listen on, HOST:PORT; by default 127.0.0.1:8080, or a free port if 8080 is taken
    #[arg(long, value_name = "HOST:PORT")]
    pub listen: Option<ListenAddress>,
}

/// Serves a temporary store, which is deleted when the server stops.
pub fn demo(args: &DemoArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let directory = tempfile::Builder::new().prefix("store-orders-demo-").tempdir();
    let directory = directory.context("cannot create a temporary directory")?;
    let store = SqliteStore::open(directory.path())?;
    let issued = fill(&store)?;
    let mut config = ServerConfig {
        log_level: LogLevel::Warning,
        admin_listen: AdminListen::Off,
        shutdown_timeout: SHUTDOWN_TIMEOUT,
        ..ServerConfig::default()
    };
    config.listen = free_address(args.listen.clone(), config.listen);
    let address = config.listen.resolve("--listen")?;
    // Clients cannot use an unspecified address such as 0.0.0.0, so the documents do not name it.
    if !address.ip().is_unspecified() {
        config.document.production_url = format!("http://{address}{BASE_PATH}").parse().ok();
    }
    let unauthenticated_per_minute = config.unauthenticated_per_minute;
    run(
        async |clock, log: &Logger| {
            ServedStore::embedded(store, unauthenticated_per_minute, clock, log)
        },
        config,
        HangUp::Stops,
        |server| {
            introduce(out, server.address(), directory.path(), &issued)?;
            out.flush()
        },
    )
}

/// Returns the address `given`, or otherwise the default. Replaces port 0 by a free port, because
/// the served documents contain the server's address. Also chooses a free port if the default
/// address is in use.
///
/// If the given address cannot be used, returns it unchanged, so that the server reports the error.
fn free_address(given: Option<ListenAddress>, default: ListenAddress) -> ListenAddress {
    let bind = |address: &str| TcpListener::bind(address)?.local_addr();
    let bound = match &given {
        Some(address) => bind(&address.to_string()),
        None => bind(&default.to_string()).or_else(|_| bind("127.0.0.1:0")),
    };
    let bound = bound.ok().and_then(|address| address.to_string().parse().ok());
    bound.or(given).unwrap_or(default)
}

fn fill(store: &dyn OperatorStore) -> Result<IssuedKey, StoreError> {
    let now_ms = SystemClock::start().now().wall_ms();
    let now = DateTime::from_timestamp_millis(now_ms).unwrap_or_default();
    let orders: Vec<Order> = (0..ORDERS).map(|number| order(number, now)).collect();
    let pets: Vec<Pet> =
        (1..).zip(PETS).map(|(id, name)| Pet { id, name: name.to_string() }).collect();
    store.import(Records::Orders(&orders), false)?;
    store.import(Records::Pets(&pets), false)?;
    store.create_account("demo", Plan::Pro, None, now)?;
    let new = NewKey {
        account: "demo",
        environment: Environment::Production,
        expires_after: None,
        label: None,
    };
    store.issue_key(&new, now_ms)
}

fn order(number: i64, now: DateTime<Utc>) -> Order {
    let midnight =
        now - TimeDelta::nanoseconds(now.timestamp_nanos_opt().unwrap_or(0) % 86_400_000_000_000);
    let shipped = number % 3 == 0;
    let days = if shipped { -number } else { number % 14 };
    let pet_id = 1 + number % PETS.len() as i64;
    Order {
        ship_date: (shipped || number % 2 == 0).then(|| midnight + TimeDelta::days(days)),
        complete: number % 6 == 0,
        status: if shipped { OrderStatus::Shipped } else { OrderStatus::Pending },
        ..Order::new(1_000 + number, pet_id, 1 + (number % 5) as i32)
    }
}

fn introduce(
    out: &mut dyn Write,
    address: SocketAddr,
    directory: &Path,
    issued: &IssuedKey,
) -> std::io::Result<()> {
    let base = format!("http://{address}/v1");
    let key = issued.key.expose();
    // `-w` makes curl print a newline after the response. Otherwise, the shell's prompt would
    // follow on the same line.
    let line = |what: &str, curl: String| format!("  # {what}\n  curl -iw '\\n' {curl}\n");
    let program = std::env::current_exe().unwrap_or_else(|_| "store-orders".into());
    let bearer = "-H \"Authorization: Bearer $KEY\"";
    writeln!(
        out,
        "A pet store with {ORDERS} orders, deleted when this stops. Its plan is Pro: 300"
    )?;
    writeln!(out, "requests a minute. In another terminal:\n")?;
    writeln!(out, "  KEY={key}")?;
    let lines = [
        line("list all orders", format!("{bearer} {base}/store/orders")),
        line("cancel a pending one: 204", format!("-X DELETE {bearer} {base}/store/orders/1001")),
        line("cancel a shipped one: 409", format!("-X DELETE {bearer} {base}/store/orders/1000")),
        line(
            "version 2: the pending orders of pet 7, in pages",
            format!("{bearer} 'http://{address}/v2/store/orders?petId=7&status=pending'"),
        ),
        line("look up a pet (deprecated)", format!("{bearer} {base}/pets/1")),
        line("without a key: 401", format!("{base}/store/orders")),
        line("the API document", format!("http://{address}/openapi.json")),
    ];
    for line in lines {
        write!(out, "{line}")?;
    }
    writeln!(out, "  # if you sent so much that the key is banned")?;
    let [program, directory] =
        [&*program, directory].map(|path| shell_word(&path.to_string_lossy()));
    writeln!(out, "  {program} keys unban {} --data-dir {directory}", issued.id)?;
    writeln!(out, "\n  API reference, where you can try requests: http://{address}/docs\n")?;
    writeln!(out, "listening on {base}")
}

fn shell_word(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+,@%:=".contains(letter);
    match word.chars().all(is_plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_the_shell() {
        for (path, word) in [
            ("/usr/local/bin/store-orders", "/usr/local/bin/store-orders"),
            ("/home/a b/it's", r"'/home/a b/it'\''s'"),
        ] {
            assert_eq!(shell_word(path), word);
        }
    }

    #[test]
    fn a_used_address_is_replaced_by_a_free_loopback_port() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address: ListenAddress = listener.local_addr().unwrap().to_string().parse().unwrap();
        let other = free_address(None, address.clone()).resolve("--listen").unwrap();
        assert!(
            other.ip().is_loopback()
                && other.port() != 0
                && other.to_string() != address.to_string()
        );
        assert_eq!(
            free_address(Some(address.clone()), other.to_string().parse().unwrap()),
            address
        );
        drop(listener);
        assert_eq!(free_address(None, address.clone()), address);
    }
}
