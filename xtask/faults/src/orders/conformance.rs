//! The cases that hold on every engine, and those of PostgreSQL alone, each in a database of its
//! own.

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

/// The servers that no case uses. A case has one to itself: a transaction that writes for long delays
/// lists in every database of its server. The servers end with the last case, each before its
/// directory is removed.
type Idle = Arc<Mutex<Vec<(Postgres, Cluster)>>>;

/// A scenario for each case.
pub fn scenarios() -> Vec<Scenario> {
    let of_engines = conformance::cases().into_iter().map(|case| -> (&str, Case) {
        (case.name, Arc::new(move |server| (case.run)(&server.new_store()?)))
    });
    let of_postgres = postgres_cases()
        .into_iter()
        .map(|case| -> (&str, Case) { (case.name, Arc::new(move |server| (case.run)(server))) });
    let idle = Idle::default();
    let scenario = |(name, case): (&str, Case)| {
        let idle = Arc::clone(&idle);
        let scenario = Scenario::new(format!("conformance::{name}"), move |tools, report| {
            Box::pin(run(tools, report, Arc::clone(&idle), Arc::clone(&case)))
        });
        scenario.untimed()
    };
    // The longest begin first: those of several servers, which stand last.
    of_postgres.rev().chain(of_engines).map(scenario).collect()
}

async fn run(tools: &Tools, report: &mut Report, idle: Idle, case: Case) -> anyhow::Result<()> {
    let found = idle.lock().pop();
    let (primary, cluster) = match found {
        Some(server) => server,
        None => {
            let cluster = Cluster::create(&tools.postgres()?)?;
            let primary = cluster.primary("primary", &[("fsync", "off")]).await?;
            (primary, cluster)
        }
    };
    let server = PostgresUnderTest::new(&format!("127.0.0.1:{}", primary.port), USER);
    // Cases ask for a thread that belongs to no runtime.
    let thread = std::thread::spawn(move || case(&server));
    let outcome = blocking(move || Ok(thread.join())).await?;
    idle.lock().push((primary, cluster));
    let panicked = |panic: Box<dyn Any + Send>| {
        let formatted = panic.downcast_ref::<String>().map(String::as_str);
        let message = formatted.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(anyhow!("it panicked: {message}"))
    };
    if let Err(error) = outcome.unwrap_or_else(panicked) {
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
    use anyhow::Context;
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
