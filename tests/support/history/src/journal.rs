//! Records events as they happen, and checks each event immediately.

use crate::checker::Checker;
use crate::event::{Answer, Asked, Event, Request, What};
use crate::figures::Figures;
use crate::listed::ShownOrders;
use crate::violation::Violation;
use parking_lot::Mutex;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::time::Instant;
use testbed::{DataDir, Report, StallDetector};

pub struct Journal {
    pub orders: ShownOrders,
    clock: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    checker: Checker,
    figures: Figures,
    ops: u64,
    file: Option<BufWriter<File>>,
    /// The first error while writing the file.
    failure: Option<std::io::Error>,
}

impl Journal {
    /// Starts a recording. If there is a `file`, the events are also written to it.
    pub fn new(file: Option<File>) -> Arc<Journal> {
        let file = file.map(BufWriter::new);
        let state = Mutex::new(State { file, ..State::default() });
        Arc::new(Journal { orders: ShownOrders::default(), clock: Instant::now(), state })
    }

    /// Returns the nanoseconds since the recording began.
    pub fn now(&self) -> u64 {
        u64::try_from(self.clock.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    pub fn note(&self, what: What) {
        self.note_in(&mut self.state.lock(), what);
    }

    /// Records that a request or command is about to begin, and returns its number.
    pub fn asks(
        &self,
        client: &str,
        server: Option<&str>,
        key: Option<&str>,
        request: Request,
    ) -> u64 {
        let mut state = self.state.lock();
        state.ops += 1;
        let op = state.ops;
        let (client, server) = (client.to_string(), server.map(ToString::to_string));
        let key = key.map(ToString::to_string);
        self.note_in(&mut state, What::Asks(Asked { op, client, server, key, request }));
        op
    }

    pub fn gets(&self, op: u64, answer: Answer) {
        self.note(What::Gets { op, answer });
    }

    /// Records the machine's stalls until the returned `StallDetector` is dropped.
    pub fn watch_machine(self: &Arc<Journal>) -> std::io::Result<StallDetector> {
        let journal = Arc::clone(self);
        StallDetector::start_with(move |late| {
            let nanos = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
            journal.note(What::Stall { nanos });
        })
    }

    /// Lists all orders with the operator's command, and records their final state. No event may be
    /// recorded afterwards.
    pub fn end(&self, operator: &DataDir) -> anyhow::Result<()> {
        self.note(What::Ends(self.orders.table(operator)?));
        Ok(())
    }

    /// Adds the figures and the violations to the report, and returns the violations. If no
    /// cancellation got a 204, the report fails even without violations.
    ///
    /// Stalls can excuse an exceeded time limit, an unexpected 503, or the lack of a 204. Stalls
    /// excuse nothing else.
    pub fn report_violations(&self, report: &mut Report) -> Vec<Violation> {
        let (figures, violations) = (self.figures(), self.violations());
        let is_idle = figures.acknowledged.is_empty();
        report.expect_unless_stalled(!is_idle, || "nothing was cancelled".to_string());
        figures.lines().into_iter().for_each(|line| report.figure(line));
        for (rule, times) in self.state.lock().checker.excused() {
            report.figure(format!("excused by stalls, {times} times: {rule}"));
        }
        for violation in &violations {
            match violation.is_of_time {
                true => report.expect_unless_stalled(false, || violation.to_string()),
                false => report.expect(false, || violation.to_string()),
            }
        }
        violations
    }

    pub fn violations(&self) -> Vec<Violation> {
        self.state.lock().checker.violations()
    }

    /// True if there is a violation that no stall of the machine, however long, could explain.
    pub fn is_violated(&self) -> bool {
        self.state.lock().checker.certain() > 0
    }

    pub fn figures(&self) -> Figures {
        self.state.lock().figures.clone()
    }

    /// Flushes the file. Fails if an event could not be written.
    pub fn close(&self) -> anyhow::Result<()> {
        let mut state = self.state.lock();
        if let Some(failure) = state.failure.take() {
            return Err(failure.into());
        }
        state.file.as_mut().map_or(Ok(()), Write::flush)?;
        Ok(())
    }

    /// Records an event. Reads the clock while the caller holds the lock, so events are in the
    /// order of their times.
    fn note_in(&self, state: &mut State, what: What) {
        let event = Event { at: self.now(), what };
        if let Some(file) = &mut state.file {
            let line = serde_json::to_string(&event).map_err(std::io::Error::from);
            if let Err(error) = line.and_then(|line| writeln!(file, "{line}")) {
                state.failure.get_or_insert(error);
            }
        }
        state.figures.take(&event);
        state.checker.take(event);
    }
}

pub fn violations(events: impl IntoIterator<Item = Event>) -> Vec<Violation> {
    let mut checker = Checker::default();
    events.into_iter().for_each(|event| checker.take(event));
    checker.violations()
}
