//! 401 and 429 against a bare endpoint that returns bodies of the same size.

use super::floors::BASE;
use super::ground::{Ground, request};
use super::keys;
use super::lists::{LIST, body_of, start_floors};
use super::load::Work;
use super::rounds::{asking, go};
use super::table::{Figure, Row, Target};

const CONNECTIONS: usize = 32;

/// Measures both. The 401 is that of a well-formed key that nobody issued, which
/// costs the most to find out; the 429 that of an account that may send nothing.
pub fn measure(ground: &mut Ground) -> anyhow::Result<Vec<Row>> {
    let store = ground.store(100)?;
    let server = ground.serve(&store)?;
    let unknown = keys::key(u64::MAX);
    let asked = |key: &str| Work::Same(request("GET", LIST, Some(key), false));
    let (unauthorized, limited) = (asked(&unknown), asked(&store.limited_key));
    let directory = ground.new_directory()?;
    let files = [directory.join("r401"), directory.join("r429")];
    for (file, work) in files.iter().zip([&unauthorized, &limited]) {
        std::fs::write(file, body_of(&server, work)?)?;
    }
    let (dropshot, _nginx) = start_floors(ground, &files)?;
    let floor = |name| Work::Same(request("GET", &format!("{BASE}{name}"), Some(&unknown), false));
    let (floor_401, floor_429) = (floor("r401"), floor("r429"));

    let turn = |server, work, status| asking(ground, server, CONNECTIONS, work, status);
    let turns = [
        turn(&server, &unauthorized, 401),
        turn(&dropshot, &floor_401, 200),
        turn(&server, &limited, 429),
        turn(&dropshot, &floor_429, 200),
    ];
    let [own_401, floor_401, own_429, floor_429] = go(ground.rounds, turns)?;
    let figure = Figure::Rate("req/s");
    let target = Target::AtLeast(0.75);
    Ok(vec![
        Row::compare("401, 32 clients", figure, &own_401, ("dropshot", &floor_401), target),
        Row::compare("429, 32 clients", figure, &own_429, ("dropshot", &floor_429), target),
    ])
}
