//! Runs scenarios. A scenario is a named test with its own servers. A run is repeated if a stall of
//! the machine makes the run inconclusive.

use anyhow::bail;
use futures::future::LocalBoxFuture;
use libtest_mimic::{Failed, Trial};
use parking_lot::RwLock;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;
use testbed::postgres::Installed;
use testbed::{Program, Report, until_conclusive};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

/// The time limit that ends a hanging scenario, far above the time that any scenario needs.
/// [`Scenario::with_fault_time`] extends the limit of chaos runs.
const TIME_LIMIT: Duration = Duration::from_secs(15 * 60);

/// After a scenario has ended, its runtime waits this long for running blocking calls. The runtime
/// then abandons the calls.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// The state that all scenarios share.
pub struct Tools {
    /// The server, built from this checkout.
    pub program: Program,
    pub seed: u64,
    /// Each scenario holds this lock while it runs. A scenario that checks time limits holds the
    /// lock exclusively, so that no other scenario runs at the same time.
    machine: RwLock<()>,
    worst: AtomicU8,
    is_interrupted: AtomicBool,
}

impl Tools {
    pub fn new(program: Program, seed: u64) -> Tools {
        let (worst, is_interrupted) = (AtomicU8::new(0), AtomicBool::new(false));
        Tools { program, seed, machine: RwLock::new(()), worst, is_interrupted }
    }

    pub fn postgres(&self) -> anyhow::Result<Installed> {
        Installed::find()
    }

    pub fn exit_status(&self) -> u8 {
        self.worst.load(Ordering::SeqCst)
    }
}

type Run = dyn for<'a> Fn(&'a Tools, &'a mut Report) -> LocalBoxFuture<'a, anyhow::Result<()>>
    + Send
    + Sync;

pub struct Scenario {
    name: String,
    is_timed: bool,
    time_limit: Duration,
    run: Box<Run>,
}

/// Creates a scenario from an async function that takes the tools and the report. The macro boxes
/// the function's future, as [`Run`] requires.
macro_rules! scenario {
    ($name:expr, $run:expr) => {
        $crate::scenario::Scenario::new($name, |tools, report| Box::pin($run(tools, report)))
    };
}
pub(crate) use scenario;

impl Scenario {
    /// Creates a scenario that checks time limits. It runs alone, because other scenarios would
    /// slow it down.
    pub fn new<F>(name: impl Into<String>, run: F) -> Scenario
    where
        F: for<'a> Fn(&'a Tools, &'a mut Report) -> LocalBoxFuture<'a, anyhow::Result<()>>,
        F: Send + Sync + 'static,
    {
        let (name, time_limit) = (name.into(), TIME_LIMIT);
        Scenario { name, is_timed: true, time_limit, run: Box::new(run) }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Extends the time limit of a scenario that injects faults for `time`. A slow machine may need
    /// twice that time.
    pub fn with_fault_time(self, time: Duration) -> Scenario {
        Scenario { time_limit: TIME_LIMIT + 2 * time, ..self }
    }

    /// Marks the scenario as one that checks no time limits. Such scenarios can run concurrently.
    pub fn untimed(self) -> Scenario {
        Scenario { is_timed: false, ..self }
    }

    /// Converts the scenario into a test. The output of a success is printed immediately.
    /// `libtest_mimic` prints the output of failures after the last test.
    pub fn into_trial(self, tools: &Arc<Tools>) -> Trial {
        let tools = Arc::clone(tools);
        Trial::test(self.name.clone(), move || {
            let mut printed = Vec::new();
            let code = self
                .run_until_conclusive(&tools, &mut printed)
                .or_else(|error| writeln!(printed, "error: {error:#}").map(|()| 2))?;
            tools.worst.fetch_max(code, Ordering::SeqCst);
            if code == 3 {
                writeln!(printed, "the machine stood still each time: nothing was proved")?;
            }
            if code == 0 {
                anstream::stdout().write_all(&printed)?;
                return Ok(());
            }
            Err(Failed::from(String::from_utf8_lossy(&printed)))
        })
    }

    fn run_until_conclusive(&self, tools: &Tools, out: &mut dyn Write) -> anyhow::Result<u8> {
        let _alone = self.is_timed.then(|| tools.machine.write());
        let _shared = (!self.is_timed).then(|| tools.machine.read());
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        writeln!(out, "\n== {}", self.name)?;
        let code = until_conclusive(out, |report| {
            fastrand::seed(tools.seed);
            runtime.block_on(self.run_until_interrupted(tools, report))
        });
        runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
        code
    }

    /// A signal drops the scenario's future. The drop ends the scenario's processes and unmounts
    /// its disks.
    async fn run_until_interrupted(
        &self,
        tools: &Tools,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        if !tools.is_interrupted.load(Ordering::SeqCst) {
            tokio::select! {
                ended = self.run_with_time_limit(tools, report) => return ended,
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        }
        tools.is_interrupted.store(true, Ordering::SeqCst);
        bail!("interrupted")
    }

    async fn run_with_time_limit(&self, tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
        match timeout(self.time_limit, (self.run)(tools, report)).await {
            Ok(ended) => ended,
            Err(_) => {
                report.expect(false, || format!("it did not end within {:?}", self.time_limit));
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_scenario_that_waits_forever_fails_once() {
        let tools = Tools::new(Program::at(Path::new("store-orders")), 1);
        let endless = Scenario::new("endless", |_, _| Box::pin(std::future::pending()));
        let endless = Scenario { time_limit: Duration::from_millis(10), ..endless };
        let mut printed = Vec::new();
        assert_eq!(endless.run_until_conclusive(&tools, &mut printed).unwrap(), 1);
        assert!(String::from_utf8_lossy(&printed).contains("violation: it did not end within"));
    }
}
