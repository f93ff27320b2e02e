//! Lists of ten thousand while 64 clients cancel, and the reverse: both at once
//! compared with each alone.

use crate::cancels::cancelling;
use crate::lists::{LIST, settle};
use crate::load::{Load, Work, request};
use crate::rounds::{Sample, TURN_TIMEOUT, Turn, go, load, sample, while_loaded};
use crate::server::MeasuredServer;
use crate::setup::{BenchSetup, Store};
use crate::table::{Figure, Row, Target};
use std::cell::Cell;

/// The list is 10,000 orders long, in the mean while it shrinks.
const LONG: i64 = 10_000;
/// How many are cancelled in a turn.
const CANCELS_PER_TURN: i64 = 4_000;
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
    let lists = load(setup, &server, LISTING, &list, 200);
    let cancels = load(setup, &server, CANCELLING, &list, 204);
    let cancels = Load { span: TURN_TIMEOUT, ..cancels };
    // Both figures of the turn in which both run.
    let both = Cell::new(Sample::default());
    let turns: [Turn<'_>; 4] = [
        Box::new(|| {
            filled.fill(LONG)?;
            sample(&server, &lists)
        }),
        Box::new(|| {
            filled.fill(LONG + CANCELS_PER_TURN / 2)?;
            sample(&server, &Load { work: &filled.cancels(), ..cancels })
        }),
        Box::new(|| {
            filled.fill(LONG + CANCELS_PER_TURN / 2)?;
            // Lists go on for as long as the cancels take.
            let cancel = || sample(&server, &Load { work: &filled.cancels(), ..cancels });
            let (cancelled, listed) = while_loaded(&server, &lists, cancel)?;
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
}
