//! Pages of v2 out of a million orders: without a filter against v1's list of a hundred, by pet
//! against SQLite with an index, and the filter that costs most, alone and next to pages and
//! cancels; and whether a page waits for a list of the million.

use crate::cancels::cancelling;
use crate::lists::LIST;
use crate::load::{Work, request};
use crate::rounds::{Turn, asking, go, load, sample, while_loaded};
use crate::setup::BenchSetup;
use crate::sqlite_loop::{SqliteLoop, SqliteWork};
use crate::table::{Figure, Row, Target, grouped};
use std::sync::atomic::AtomicUsize;

const ORDERS: u64 = 1_000_000;
/// Each has a hundred orders, spread over the whole list: the worst case for a search.
pub const PETS: i64 = 10_000;
const PAGE: &str = "/v2/store/orders";
const CLIENTS: usize = 32;
/// No order matches, so each has to be read.
const WORST: &str = "shipDateFrom=9999-01-01T00:00:00Z";
const WORST_CLIENTS: usize = 2;
/// The bound of the worst filter's p99, in microseconds.
const WORST_P99_MICROSECONDS: f64 = 50_000.0;
const CANCELLING: usize = 64;

/// Measures all of it.
pub fn measure(setup: &mut BenchSetup) -> anyhow::Result<Vec<Row>> {
    let store = setup.store(ORDERS)?;
    store.divide_among_pets(PETS)?;
    let database = setup.new_directory()?.join("orders.sqlite");
    std::fs::copy(store.file(), &database)?;
    let sqlite = SqliteLoop::start(SqliteWork::Page, &database, None)?;
    let (server, short) = (store.serve()?, setup.store(100)?);
    let short_server = short.serve()?;

    let get = |path: &str, key: &str| request("GET", path, Some(key), false);
    let page = Work::Same(get(PAGE, &store.key));
    let (list, million) = (Work::Same(get(LIST, &short.key)), Work::Same(get(LIST, &store.key)));
    let of_pet = |pet| get(&format!("{PAGE}?petId={pet}"), &store.key);
    let by_pet = Work::InTurn((0..PETS).step_by(7).map(of_pet).collect(), AtomicUsize::new(0));
    let worst = Work::Same(get(&format!("{PAGE}?{WORST}"), &store.key));
    let turn = |server, clients, work| asking(setup, server, clients, work, 200);
    let turns = [
        turn(&server, CLIENTS, &page),
        turn(&short_server, CLIENTS, &list),
        turn(&server, CLIENTS, &by_pet),
        sqlite.turns(setup),
        turn(&server, WORST_CLIENTS, &worst),
        turn(&server, 1, &page),
    ];
    let [pages_alone, list, by_pet, sqlite, worst_alone, one_alone] = go(setup.rounds, turns)?;

    let cancel = cancelling(&store.key, 1, ORDERS as i64);
    let one_page = load(setup, &server, 1, &page, 200);
    let pages = load(setup, &server, CLIENTS, &page, 200);
    let cancels = load(setup, &server, CANCELLING, &cancel, 204);
    let worst = load(setup, &server, WORST_CLIENTS, &worst, 200);
    let million = load(setup, &server, 1, &million, 200);
    let next_to = |other, own| Ok(while_loaded(&server, other, || sample(&server, own))?.0);
    let turns: [Turn<'_>; 4] = [
        Box::new(|| next_to(&worst, &pages)),
        Box::new(|| next_to(&million, &one_page)),
        Box::new(|| sample(&server, &cancels)),
        Box::new(|| next_to(&worst, &cancels)),
    ];
    let [pages, streamed, cancels_alone, cancels] = go(setup.rounds, turns)?;

    let rate = Figure::Rate("req/s");
    let p99 = worst_alone.spread(|sample| sample.p99).median;
    Ok(vec![
        Row::compare(
            "page of 100 out of 1,000,000, 32 clients",
            rate,
            &pages_alone,
            ("list of 100", &list),
            Target::AtLeast(0.5),
        ),
        Row::compare(
            "page by petId, 100 orders of 1,000,000, 32 clients",
            rate,
            &by_pet,
            ("SQLite alone", &sqlite),
            Target::AtLeast(3.0),
        ),
        Row::single(
            "page by a filter that no order of 1,000,000 matches, 2 clients",
            format!("p99 {} µs", grouped(p99)),
            format!("bound: {} µs", grouped(WORST_P99_MICROSECONDS)),
            p99 / WORST_P99_MICROSECONDS,
            Target::AtMost(1.0),
        ),
        Row::compare(
            "page of 100, 32 clients, while 2 page by that filter",
            rate,
            &pages,
            ("without", &pages_alone),
            Target::AtLeast(0.5),
        ),
        Row::compare(
            "page of 100, 1 client, while another lists 1,000,000",
            Figure::P99,
            &streamed,
            ("without", &one_alone),
            Target::AtMost(3.0),
        ),
        Row::compare(
            "cancel, 64 clients, while 2 page by that filter",
            rate,
            &cancels,
            ("without", &cancels_alone),
            Target::AtLeast(0.5),
        ),
    ])
}
