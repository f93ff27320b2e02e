//! `status`: shows the servers that use the store.

use super::options::Options;
use super::printer::Printer;
use crate::config::{PostgresUrl, StoreLocation};
use crate::store::postgres::{PostgresOperatorStore, ReplicaRow};
use crate::store::{OperatorStore, sqlite};
use indicatif::{HumanCount, HumanDuration};
use serde::Serialize;
use serde_json::json;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

pub(super) fn status(options: &Options, printer: &mut Printer<'_>) -> anyhow::Result<()> {
    match options.store.location()? {
        StoreLocation::Directory(directory) => embedded(&directory, printer),
        StoreLocation::Postgres(url) => shared(&url, printer),
    }
}

fn embedded(directory: &Path, printer: &mut Printer<'_>) -> anyhow::Result<()> {
    let server = sqlite::running_server(directory)?;
    let name = directory.display().to_string();
    let text = match &server {
        Some(server) => format!("{name}: served ({server})"),
        None => format!("{name}: no server runs"),
    };
    let server = server.as_deref().map(RunningServer::parse);
    Ok(printer.show(&json!({ "store": name, "server": server }), text)?)
}

/// The content of a data directory's `server.pid`, which describes the server.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunningServer<'a> {
    pid: Option<u32>,
    /// The address of the API's listener. Absent until the server listens.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<&'a str>,
    /// The address of the server's admin listener, or `off`. Absent until the server listens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) admin_listen: Option<&'a str>,
}

impl RunningServer<'_> {
    pub(super) fn parse(text: &str) -> RunningServer<'_> {
        let mut parts = text.split(", ");
        let pid = parts.next().and_then(|part| part.strip_prefix("pid ")?.parse().ok());
        let (address, admin) = (parts.next(), parts.next());
        let admin_listen = admin.and_then(|part| part.strip_prefix("admin "));
        RunningServer { pid, address, admin_listen }
    }
}

fn shared(url: &PostgresUrl, printer: &mut Printer<'_>) -> anyhow::Result<()> {
    let store = PostgresOperatorStore::connect(url)?;
    let silent = store.silent_replicas()?;
    // Read the replicas before the store's change number. If the number were read first, a
    // replica's list could seem to be ahead of the store.
    let replicas = store.replicas()?.into_iter();
    let replicas = replicas.map(|row| ReplicaStatus { is_silent: silent.contains(&row.id), row });
    let replicas = replicas.collect();
    let (id, orders_change_number) = (store.id()?, store.orders_change_number()?);
    let status = SharedStatus { store: url.to_string(), id, orders_change_number, replicas };
    Ok(printer.show(&status, status.text()?)?)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SharedStatus {
    store: String,
    id: String,
    orders_change_number: i64,
    /// The replica whose row was updated most recently is first.
    replicas: Vec<ReplicaStatus>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReplicaStatus {
    #[serde(flatten)]
    row: ReplicaRow,
    /// True if the server sent no heartbeat while this command waited for one.
    is_silent: bool,
}

impl SharedStatus {
    fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = format!(
            "store     {}\nid        {}\nchange    {}",
            self.store,
            self.id,
            HumanCount(self.orders_change_number.unsigned_abs())
        );
        if self.replicas.is_empty() {
            text.push_str("\nreplicas  none");
        }
        for ReplicaStatus { row, is_silent } in &self.replicas {
            let ReplicaRow {
                id,
                program,
                address,
                started_at,
                heard_seconds_ago,
                list_change_number,
            } = row;
            let heard = if *is_silent { "silent, last heard" } else { "heard" };
            let ago = HumanDuration(Duration::from_secs(heard_seconds_ago.unsigned_abs()));
            let address = if address.is_empty() { "not listening yet" } else { address };
            let list = match self.orders_change_number.saturating_sub(*list_change_number) {
                ..=0 => "list is current".to_string(),
                1 => "list is 1 change behind".to_string(),
                behind => {
                    format!("list is {} changes behind", HumanCount(behind.unsigned_abs()))
                }
            };
            write!(
                text,
                "\nreplica   {id}: {address}, program {program}, since {started_at}, {heard} \
                 {ago} ago, {list}"
            )?;
        }
        Ok(text)
    }
}
