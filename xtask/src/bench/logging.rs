//! What the log costs: the list of a hundred with its line and without.

use super::ground::{Ground, request};
use super::lists::LIST;
use super::load::Work;
use super::rounds::{asking, go};
use super::table::{Figure, Row, Target};

const WORK: &str = "list of 100, log on, 32 clients";
const SWITCH: &str = "--log-level";

/// Measures both, if the server can be told not to log.
pub fn measure(ground: &mut Ground) -> anyhow::Result<Vec<Row>> {
    let target = Target::AtLeast(0.8);
    if !ground.program.serve_takes(SWITCH) {
        let why = format!("`serve` has no {SWITCH}");
        return Ok(vec![Row::missing(WORK, target, &why)]);
    }
    let (store, other) = (ground.store(100)?, ground.store(100)?);
    let on = ground.serve(&store)?;
    let off = ground.program.serve(&other.directory, &[SWITCH, "off"], None)?;
    let work = Work::Same(request("GET", LIST, Some(&store.key), false));
    let turn = |server| asking(ground, server, 32, &work, 200);
    let [on, off] = go(ground.rounds, [turn(&on), turn(&off)])?;
    Ok(vec![Row::compare(WORK, Figure::Rate("req/s"), &on, ("log off", &off), target)])
}
