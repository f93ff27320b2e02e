//! Runs the PostgreSQL conformance cases and those for every kind of store, each in its own
//! PostgreSQL database.

use crate::replicas::blocking;
use crate::scenario::{Scenario, Tools};
use anyhow::anyhow;
use conformance::postgres::{PostgresUnderTest, postgres_cases};
use parking_lot::Mutex;
use std::any::Any;
use std::io;
use std::sync::Arc;
use store_orders::store::StoreError;
use testbed::Report;
use testbed::postgres::{Cluster, Postgres, USER};

type Case = Arc<dyn Fn(&PostgresUnderTest) -> anyhow::Result<()> + Send + Sync>;

/// Database servers that no case uses at the moment. A case has a server to itself, because a long
/// write transaction delays lists in the server's other databases. The server is first in the pair,
/// so it ends before its directory is removed.
type IdleServers = Arc<Mutex<Vec<(Postgres, Cluster)>>>;

pub fn scenarios() -> Vec<Scenario> {
    let engine_cases = conformance::cases().into_iter().map(|case| -> (&str, Case) {
        (case.name, Arc::new(move |server| (case.run)(&server.new_store()?)))
    });
    let postgres_only_cases = postgres_cases()
        .into_iter()
        .map(|case| -> (&str, Case) { (case.name, Arc::new(move |server| (case.run)(server))) });
    let idle = IdleServers::default();
    let scenario = |(name, case): (&str, Case)| {
        let idle = Arc::clone(&idle);
        let scenario = Scenario::new(format!("conformance::{name}"), move |tools, report| {
            Box::pin(run(tools, report, Arc::clone(&idle), Arc::clone(&case)))
        });
        scenario.untimed()
    };
    // Start with the last cases of the list, which take longest because they need several servers.
    postgres_only_cases.rev().chain(engine_cases).map(scenario).collect()
}

async fn run(
    tools: &Tools,
    report: &mut Report,
    idle: IdleServers,
    case: Case,
) -> anyhow::Result<()> {
    let idle_server = idle.lock().pop();
    let (primary, cluster) = match idle_server {
        Some(server) => server,
        None => {
            let cluster = Cluster::create(&tools.postgres()?)?;
            let primary = cluster.primary("primary", &[("fsync", "off")]).await?;
            (primary, cluster)
        }
    };
    let server = PostgresUnderTest::new(&format!("127.0.0.1:{}", primary.port), USER);
    // Start a thread, because a case blocks its thread, and a thread of a tokio runtime must not
    // block.
    let thread = std::thread::spawn(move || case(&server));
    let outcome = blocking(move || Ok(thread.join())).await?;
    idle.lock().push((primary, cluster));
    let panicked = |panic: Box<dyn Any + Send>| {
        let formatted = panic.downcast_ref::<String>().map(String::as_str);
        let message = formatted.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(anyhow!("it panicked: {message}"))
    };
    if let Err(error) = outcome.unwrap_or_else(panicked) {
        match is_late_or_unreachable(&error) {
            true => report.expect_unless_stalled(false, || format!("{error:#}")),
            false => report.expect(false, || format!("{error:#}")),
        }
    }
    Ok(())
}

/// True if the error is a timeout or a [`StoreError::Engine`], for example because the store is
/// unreachable. A stall of the machine excuses only these errors.
fn is_late_or_unreachable(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let is_timeout = cause.downcast_ref().map(io::Error::kind) == Some(io::ErrorKind::TimedOut);
        is_timeout || matches!(cause.downcast_ref(), Some(StoreError::Engine { .. }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;
    use anyhow::bail;
    use std::time::Duration;
    use testbed::wait_blocking;

    #[test]
    fn a_stall_excuses_late_answers_but_not_wrong_ones() {
        let late = wait_blocking("an answer", Duration::ZERO, || None::<()>);
        let source = io::Error::other("no session").into();
        let unreachable = Err(StoreError::Engine { doing: "read", source });
        let wrong: anyhow::Result<()> = (|| bail!("order 1 is listed"))();
        let refused = Err(StoreError::Refused("the plan has no limits".to_string()));
        let errors =
            [late, unreachable.context("while it waits"), wrong, refused.context("a plan")];
        let are_excused = errors.map(|error| is_late_or_unreachable(&error.unwrap_err()));
        assert_eq!(are_excused, [true, true, false, false]);
    }
}
