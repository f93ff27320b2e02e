//! The cases that hold on every engine, on PostgreSQL.

use crate::postgres::{Cluster, DATABASE, Installed, Postgres, USER};
use conformance::{Engine, cases};
use slog::{Discard, Logger, o};
use std::sync::Arc;
use store_orders::config::PostgresUrl;
use store_orders::store::postgres::{PostgresCommands, PostgresStore};
use store_orders::store::{OperatorStore, Store};
use testbed::Report;
use tokio::runtime::Handle;

/// A new database.
struct OnPostgres {
    runtime: Handle,
    url: PostgresUrl,
}

impl Engine for OnPostgres {
    fn serving(&self) -> anyhow::Result<Arc<dyn Store>> {
        let log = Logger::root(Discard, o!());
        Ok(Arc::new(PostgresStore::open(&self.runtime, self.url.clone(), false, log)?))
    }

    fn commands(&self) -> anyhow::Result<Box<dyn OperatorStore>> {
        Ok(Box::new(PostgresCommands::connect(&self.url, || ())?))
    }
}

/// Runs every case, each on a database of its own.
pub async fn run(installed: &Installed, report: &mut Report) -> anyhow::Result<()> {
    let cluster = Cluster::create(installed)?;
    let server = cluster.primary("primary", &[("fsync", "off")]).await?;
    let first: PostgresUrl = server.url().parse()?;
    crate::replicas::blocking(move || Ok(store_orders::store::postgres::migrate(&first, || ())?))
        .await?;
    let admin = server.admin("postgres").await?;
    let cases = cases();
    for (number, case) in cases.iter().enumerate() {
        let name = format!("case_{number}");
        let copy = format!("CREATE DATABASE {name} TEMPLATE {DATABASE}");
        admin.batch_execute(&copy).await?;
        let url: PostgresUrl =
            Postgres::url_at(server.port).replace(DATABASE, &name).replace(USER, USER).parse()?;
        let engine = OnPostgres { runtime: Handle::current(), url };
        let run = case.run;
        // A thread that belongs to no runtime, as the case asks for.
        let thread = std::thread::spawn(move || run(&engine));
        let joined = crate::replicas::blocking(move || Ok(thread.join())).await?;
        match joined {
            Ok(Ok(())) => {}
            Ok(Err(error)) => report.expect(false, || format!("{}: {error:#}", case.name)),
            Err(_) => report.expect(false, || format!("{} panicked", case.name)),
        }
    }
    report.figure(format!("{} cases", cases.len()));
    Ok(())
}
