//! Lists of ten thousand while 64 clients cancel, and the reverse: both at once
//! compared with each alone.

use crate::cancels::cancelling;
use crate::lists::{LIST, listing, settle};
use crate::load::request;
use crate::load::{Load, Work};
use crate::rounds::{Sample, Turn, go, sample};
use crate::server::MeasuredServer;
use crate::setup::{BenchSetup, Store};
use crate::table::{Figure, Row, Target};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The list is 10,000 orders long, in the mean while it shrinks.
const LONG: i64 = 10_000;
/// How many are cancelled in a turn.
const CANCELS_PER_TURN: i64 = 4_000;
/// A turn takes far less.
const TURN_TIMEOUT: Duration = Duration::from_secs(60);
const LISTING: usize = 4;
const CANCELLING: usize = 64;

/// A server whose list is filled up before each turn.
struct Filled<'a> {
    store: &'a Store,
    server: &'a MeasuredServer,
    /// The ids of the orders that are pending.
    first: Cell<i64>,
    last: Cell<i64>,
}

/// Measures the four.
pub fn measure(setup: &mut BenchSetup) -> anyhow::Result<Vec<Row>> {
    let store = setup.store(LONG as u64)?;
    let server = store.serve()?;
    let filled = Filled { store: &store, server: &server, first: 1.into(), last: LONG.into() };
    let list = Work::Same(request("GET", LIST, Some(&store.key), false));
    let lists = Load { connections: LISTING, ..listing(setup, &server, &list) };
    // Both figures of the turn in which both run.
    let both = Cell::new(Sample::default());
    let turns: [Turn<'_>; 4] = [
        Box::new(|| {
            filled.fill(LONG)?;
            sample(&server, &lists)
        }),
        Box::new(|| {
            filled.fill(LONG + CANCELS_PER_TURN / 2)?;
            sample(&server, &Load { work: &filled.cancels(), ..filled.cancel_load(&lists) })
        }),
        Box::new(|| {
            filled.fill(LONG + CANCELS_PER_TURN / 2)?;
            let (listed, cancelled) = at_once(&filled, &lists)?;
            both.set(cancelled);
            Ok(listed)
        }),
        Box::new(|| Ok(both.get())),
    ];
    let [lists_alone, cancels_alone, lists, cancels] = go(setup.rounds, turns)?;
    let row = |work, figure, own, alone| {
        Row::compare(work, figure, own, ("without", alone), Target::AtLeast(0.5))
    };
    let rate = Figure::Rate("req/s");
    Ok(vec![
        row("list of 10,000, 4 clients, while 64 cancel", Figure::Bytes, &lists, &lists_alone),
        row("cancel, 64 clients, while 4 list 10,000", rate, &cancels, &cancels_alone),
    ])
}

/// Lists for as long as another thread takes to cancel its orders.
fn at_once(filled: &Filled<'_>, lists: &Load<'_>) -> anyhow::Result<(Sample, Sample)> {
    let over = AtomicBool::new(false);
    let work = filled.cancels();
    let (server, cancels) = (filled.server, Load { work: &work, ..filled.cancel_load(lists) });
    std::thread::scope(|scope| {
        let canceller = scope.spawn(|| {
            let cancelled = sample(server, &cancels);
            over.store(true, Ordering::Relaxed);
            cancelled
        });
        let listed = sample(server, &Load { stop: Some(&over), span: TURN_TIMEOUT, ..*lists });
        let cancelled = canceller.join().map_err(|_| anyhow::anyhow!("cancelling panicked"))??;
        // The server's processor time cannot be divided between them.
        let unknown = |sample| Sample { cpu: f64::NAN, ..sample };
        Ok((unknown(listed?), unknown(cancelled)))
    })
}

impl Filled<'_> {
    /// Adds orders until the list has this many; it never has more.
    fn fill(&self, to: i64) -> anyhow::Result<()> {
        let last = self.first.get() + to - 1;
        self.store.add_orders(self.last.get() + 1, last)?;
        self.last.set(last);
        settle(self.server, &self.store.key)
    }

    /// Cancels of the oldest orders.
    fn cancels(&self) -> Work {
        let first = self.first.get();
        self.first.set(first + CANCELS_PER_TURN);
        cancelling(&self.store.key, first, first + CANCELS_PER_TURN - 1)
    }

    fn cancel_load<'b>(&self, like: &Load<'b>) -> Load<'b> {
        Load { connections: CANCELLING, status: 204, span: TURN_TIMEOUT, ..*like }
    }
}
