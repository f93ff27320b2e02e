//! The cases that hold on every engine, and those of PostgreSQL alone, each on a database of its
//! own on one server.

use crate::replicas::blocking;
use crate::scenario::{Scenario, Tools};
use anyhow::{Context, anyhow};
use conformance::postgres::{PostgresUnderTest, postgres_cases};
use std::io;
use std::sync::Arc;
use store_orders::store::StoreError;
use testbed::Report;
use testbed::postgres::{Cluster, Postgres, USER};
use tokio::sync::Mutex;

type Case = Arc<dyn Fn(&PostgresUnderTest) -> anyhow::Result<()> + Send + Sync>;

/// The server, started for the first case. It ends with the last.
type Server = Arc<Mutex<Option<(Cluster, Postgres)>>>;

/// A scenario for each case. They run alone, because some bound times.
pub fn scenarios() -> Vec<Scenario> {
    let of_engines = conformance::cases().into_iter().map(|case| -> (&str, Case) {
        (case.name, Arc::new(move |server| (case.run)(&server.new_store()?)))
    });
    let of_postgres = postgres_cases()
        .into_iter()
        .map(|case| -> (&str, Case) { (case.name, Arc::new(move |server| (case.run)(server))) });
    let server = Server::default();
    let scenario = |(name, case): (&str, Case)| {
        let server = Arc::clone(&server);
        Scenario::new(format!("conformance::{name}"), move |tools, report| {
            Box::pin(run(tools, report, Arc::clone(&server), Arc::clone(&case)))
        })
    };
    of_engines.chain(of_postgres).map(scenario).collect()
}

async fn run(tools: &Tools, report: &mut Report, server: Server, case: Case) -> anyhow::Result<()> {
    let mut started = server.lock().await;
    if started.is_none() {
        let cluster = Cluster::create(&tools.postgres()?)?;
        let primary = cluster.primary("primary", &[("fsync", "off")]).await?;
        *started = Some((cluster, primary));
    }
    let (_, primary) = started.as_ref().context("it was started")?;
    let server = PostgresUnderTest::new(&format!("127.0.0.1:{}", primary.port), USER);
    // Cases ask for a thread that belongs to no runtime.
    let thread = std::thread::spawn(move || case(&server));
    let outcome = blocking(move || Ok(thread.join())).await?;
    if let Err(error) = outcome.unwrap_or_else(|_| Err(anyhow!("it panicked"))) {
        match is_of_time(&error) {
            true => report.expect_unless_stalled(false, || format!("{error:#}")),
            false => report.expect(false, || format!("{error:#}")),
        }
    }
    Ok(())
}

/// Whether something did not come in time, or the store could not be reached, which clients see as
/// 503. Whatever else a case finds is a wrong answer.
fn is_of_time(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let waited = cause.downcast_ref().map(io::Error::kind) == Some(io::ErrorKind::TimedOut);
        waited || matches!(cause.downcast_ref(), Some(StoreError::Engine { .. }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;
    use std::time::Duration;
    use testbed::wait_blocking;

    #[test]
    fn a_stall_excuses_what_is_late_and_no_wrong_answer() {
        let late = wait_blocking("an answer", Duration::ZERO, || None::<()>);
        let source = io::Error::other("no session").into();
        let unreachable = Err(StoreError::Engine { doing: "read", source });
        let wrong: anyhow::Result<()> = (|| bail!("order 1 is listed"))();
        let refused = Err(StoreError::Refused("the plan has no limits".to_string()));
        let errors =
            [late, unreachable.context("while it waits"), wrong, refused.context("a plan")];
        let are_of_time = errors.map(|error| is_of_time(&error.unwrap_err()));
        assert_eq!(are_of_time, [true, true, false, false]);
    }
}
