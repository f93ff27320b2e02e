//! A scenario: a name, and what is tried on servers of its own until it proves something.

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

/// How long a scenario may take, far longer than any needs: one that waits for what never comes
/// ends too. A call that blocks cannot be ended, and has a limit of its own.
const TIME_LIMIT: Duration = Duration::from_secs(15 * 60);

/// How long an ended scenario waits for its blocking calls, which cannot be cancelled.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// What scenarios share.
pub struct Tools {
    /// The server, built from this checkout.
    pub program: Program,
    /// Where random choices begin.
    pub seed: u64,
    /// Held by each scenario; alone by one that bounds times.
    machine: RwLock<()>,
    /// The worst exit status so far.
    worst: AtomicU8,
    is_interrupted: AtomicBool,
}

impl Tools {
    /// For scenarios of this program.
    pub fn new(program: Program, seed: u64) -> Tools {
        let (worst, is_interrupted) = (AtomicU8::new(0), AtomicBool::new(false));
        Tools { program, seed, machine: RwLock::new(()), worst, is_interrupted }
    }

    /// The PostgreSQL that is installed.
    pub fn postgres(&self) -> anyhow::Result<Installed> {
        Installed::find()
    }

    /// The worst exit status of the scenarios that ran.
    pub fn exit_status(&self) -> u8 {
        self.worst.load(Ordering::SeqCst)
    }
}

type Run = dyn for<'a> Fn(&'a Tools, &'a mut Report) -> LocalBoxFuture<'a, anyhow::Result<()>>
    + Send
    + Sync;

/// A scenario.
pub struct Scenario {
    name: String,
    is_timed: bool,
    time_limit: Duration,
    run: Box<Run>,
}

/// A scenario of this name that runs this function.
macro_rules! scenario {
    ($name:expr, $run:expr) => {
        $crate::scenario::Scenario::new($name, |tools, report| Box::pin($run(tools, report)))
    };
}
pub(crate) use scenario;

impl Scenario {
    /// One that no other may run at the same time as, because it bounds times.
    pub fn new<F>(name: impl Into<String>, run: F) -> Scenario
    where
        F: for<'a> Fn(&'a Tools, &'a mut Report) -> LocalBoxFuture<'a, anyhow::Result<()>>,
        F: Send + Sync + 'static,
    {
        let (name, time_limit) = (name.into(), TIME_LIMIT);
        Scenario { name, is_timed: true, time_limit, run: Box::new(run) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// It draws faults for this long, on a slow machine twice as long, which its time limit leaves
    /// out.
    pub fn drawing_for(self, time: Duration) -> Scenario {
        Scenario { time_limit: TIME_LIMIT + 2 * time, ..self }
    }

    /// It bounds no times: others of this kind may run at the same time.
    pub fn untimed(self) -> Scenario {
        Scenario { is_timed: false, ..self }
    }

    /// It as a test. What a failed one reported is listed after all others.
    pub fn into_trial(self, tools: &Arc<Tools>) -> Trial {
        let tools = Arc::clone(tools);
        Trial::test(self.name.clone(), move || {
            let mut printed = Vec::new();
            let code = self
                .attempt(&tools, &mut printed)
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

    /// Runs it until it proves something, and returns its exit status.
    fn attempt(&self, tools: &Tools, out: &mut dyn Write) -> anyhow::Result<u8> {
        let _alone = self.is_timed.then(|| tools.machine.write());
        let _shared = (!self.is_timed).then(|| tools.machine.read());
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        writeln!(out, "\n== {}", self.name)?;
        let code = until_conclusive(out, |report| {
            fastrand::seed(tools.seed);
            runtime.block_on(self.until_interrupted(tools, report))
        });
        runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
        code
    }

    /// A signal ends it early, so that no process stays and no disk stays mounted.
    async fn until_interrupted(&self, tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        if !tools.is_interrupted.load(Ordering::SeqCst) {
            tokio::select! {
                ended = self.in_time(tools, report) => return ended,
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        }
        tools.is_interrupted.store(true, Ordering::SeqCst);
        bail!("interrupted")
    }

    async fn in_time(&self, tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
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
    fn a_scenario_that_waits_for_ever_fails_once() {
        let tools = Tools::new(Program::at(Path::new("store-orders")), 1);
        let endless = Scenario::new("endless", |_, _| Box::pin(std::future::pending()));
        let endless = Scenario { time_limit: Duration::from_millis(10), ..endless };
        let mut printed = Vec::new();
        assert_eq!(endless.attempt(&tools, &mut printed).unwrap(), 1);
        assert!(String::from_utf8_lossy(&printed).contains("violation: it did not end within"));
    }
}
