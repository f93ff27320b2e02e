//! What the log costs: the list of a hundred with its line and without.

use crate::lists::LIST;
use crate::load::{Work, request};
use crate::machine::Side;
use crate::rounds::{asking, go};
use crate::server::MeasuredServer;
use crate::setup::BenchSetup;
use crate::table::{Figure, Row, Target};

/// Measures both.
pub fn measure(setup: &mut BenchSetup) -> anyhow::Result<Vec<Row>> {
    let (store, other) = (setup.store(100)?, setup.store(100)?);
    let on = store.serve()?;
    let off = MeasuredServer::serve(Side::Served, &other.data, &["--log-level", "off"], None)?;
    let work = Work::Same(request("GET", LIST, Some(&store.key), false));
    let turn = |server| asking(setup, server, 32, &work, 200);
    let [on, off] = go(setup.rounds, [turn(&on), turn(&off)])?;
    Ok(vec![Row::compare(
        "list of 100, log on, 32 clients",
        Figure::Rate("req/s"),
        &on,
        ("log off", &off),
        Target::AtLeast(0.8),
    )])
}
