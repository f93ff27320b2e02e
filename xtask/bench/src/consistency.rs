//! Whether what clients saw is true: they list and cancel the same orders while
//! the server is killed and restarted, and the checker holds what they saw against
//! its rules.

use crate::setup::BenchSetup;
use crate::table::{Row, Target};
use history::workload::Load;
use history::{HistoryRecorder, Lives};
use testbed::Key;

const LIVES: Lives =
    Lives { orders: 6_000, lives: 4, load: Load { writers: 16, listers: 4, walkers: 2 } };

/// Records a history and checks it: a row, and the rules that it breaks.
pub fn measure(setup: &mut BenchSetup) -> anyhow::Result<(Row, Vec<String>)> {
    let store = setup.store(LIVES.orders as u64)?;
    let key = Key { id: String::new(), text: store.key.clone() };
    let serve = || store.data.serve(&[]);
    let journal = HistoryRecorder::record(&store.data, &serve, &key, LIVES)?;
    let violations: Vec<String> = journal.violations().iter().map(ToString::to_string).collect();
    let figures = journal.figures();
    let row = Row::single(
        "lists and cancels at once, across restarts and kill -9",
        format!("{} violations", violations.len()),
        format!("{} lists, {} cancels", figures.of_kind("lists"), figures.of_kind("cancels")),
        violations.len() as f64,
        Target::AtMost(0.0),
    );
    Ok((row, violations))
}
