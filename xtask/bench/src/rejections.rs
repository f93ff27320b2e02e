//! 401 and 429 against a bare endpoint that returns bodies of the same size.

use crate::baselines::{self, BASE};
use crate::keys;
use crate::lists::{LIST, body_of};
use crate::load::Work;
use crate::load::request;
use crate::rounds::{asking, go};
use crate::setup::BenchSetup;
use crate::table::{Figure, Row, Target};

const CONNECTIONS: usize = 32;

/// Measures both. The 401 is that of a well-formed unknown key, the most expensive
/// kind, always the same one and another each time; the 429 that of an account that may
/// send nothing.
pub fn measure(setup: &mut BenchSetup) -> anyhow::Result<Vec<Row>> {
    let store = setup.store(100)?;
    let server = store.serve()?;
    let unknown = keys::unknown();
    let asked = |key: &str| Work::Same(request("GET", LIST, Some(key), false));
    let (unauthorized, limited) = (asked(&unknown), asked(&store.limited_key));
    let flood = keys::flood();
    let directory = setup.new_directory()?;
    let files = [directory.join("r401"), directory.join("r429")];
    for (file, work) in files.iter().zip([&unauthorized, &limited]) {
        std::fs::write(file, body_of(&server, work)?)?;
    }
    let dropshot = baselines::start(&setup.new_directory()?, &files)?;
    let baseline =
        |name| Work::Same(request("GET", &format!("{BASE}{name}"), Some(&unknown), false));
    let (work_401, work_429) = (baseline("r401"), baseline("r429"));

    let turn = |server, work, status| asking(setup, server, CONNECTIONS, work, status);
    let turns = [
        turn(&server, &unauthorized, 401),
        turn(&server, &flood, 401),
        turn(&dropshot, &work_401, 200),
        turn(&server, &limited, 429),
        turn(&dropshot, &work_429, 200),
    ];
    let [own_401, own_flood, bare_401, own_429, bare_429] = go(setup.rounds, turns)?;
    let figure = Figure::Rate("req/s");
    let target = Target::AtLeast(0.75);
    let name = "401, each with another key, 32 clients";
    Ok(vec![
        Row::compare("401, 32 clients", figure, &own_401, ("dropshot", &bare_401), target),
        Row::compare(name, figure, &own_flood, ("dropshot", &bare_401), target),
        Row::compare("429, 32 clients", figure, &own_429, ("dropshot", &bare_429), target),
    ])
}
