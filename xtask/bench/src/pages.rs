//! Pages of v2 out of a million orders: without a filter against v1's list of a hundred, by pet
//! against hyper with SQLite and an index, and the filter that costs most, alone and next to
//! pages and cancels.

use crate::cancels::cancelling;
use crate::lists::LIST;
use crate::load::{Load, Work, request};
use crate::rounds::{Sample, Turn, asking, go, sample};
use crate::setup::BenchSetup;
use crate::sqlite_pages;
use crate::table::{Figure, Row, Target, grouped};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const ORDERS: u64 = 1_000_000;
/// Each has a hundred orders, spread over the whole list: the worst case for a search.
const PETS: i64 = 10_000;
const PAGE: &str = "/v2/store/orders";
const CLIENTS: usize = 32;
/// No order matches, so each has to be read.
const WORST: &str = "shipDateFrom=9999-01-01T00:00:00Z";
const WORST_CLIENTS: usize = 2;
/// The bound of the worst filter's p99, in microseconds.
const WORST_P99_MICROSECONDS: f64 = 50_000.0;
const CANCELLING: usize = 64;
const CANCELS_PER_TURN: i64 = 2_000;
/// A turn takes far less.
const TURN_TIMEOUT: Duration = Duration::from_secs(60);

/// Measures all of it.
pub fn measure(setup: &mut BenchSetup) -> anyhow::Result<Vec<Row>> {
    let store = setup.store(ORDERS)?;
    store.divide_among_pets(PETS)?;
    let database = setup.new_directory()?.join("orders.sqlite");
    std::fs::copy(store.file(), &database)?;
    sqlite_pages::index_by_pet(&database)?;
    let sqlite = sqlite_pages::start(&setup.new_directory()?, &database)?;
    let (server, short) = (store.serve()?, setup.store(100)?);
    let short_server = short.serve()?;

    let get = |path: &str, key: &str| request("GET", path, Some(key), false);
    let page = Work::Same(get(PAGE, &store.key));
    let list = Work::Same(get(LIST, &short.key));
    let of_pet = |pet| get(&format!("{PAGE}?petId={pet}"), &store.key);
    let by_pet = Work::InTurn((0..PETS).step_by(7).map(of_pet).collect(), AtomicUsize::new(0));
    let worst = Work::Same(get(&format!("{PAGE}?{WORST}"), &store.key));
    let turn = |server, clients, work| asking(setup, server, clients, work, 200);
    let turns = [
        turn(&server, CLIENTS, &page),
        turn(&short_server, CLIENTS, &list),
        turn(&server, CLIENTS, &by_pet),
        turn(&sqlite, CLIENTS, &by_pet),
        turn(&server, WORST_CLIENTS, &worst),
    ];
    let [pages_alone, list, by_pet, sqlite, worst_alone] = go(setup.rounds, turns)?;

    let next = Cell::new(1);
    let worst_load = Load {
        address: server.address,
        connections: WORST_CLIENTS,
        span: TURN_TIMEOUT,
        work: &worst,
        status: 200,
        stop: None,
    };
    let cancels = || {
        let first = next.replace(next.get() + CANCELS_PER_TURN);
        cancelling(&store.key, first, first + CANCELS_PER_TURN - 1)
    };
    let while_paging = |measure: &dyn Fn() -> anyhow::Result<Sample>| {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let pager = scope.spawn(|| sample(&server, &Load { stop: Some(&over), ..worst_load }));
            let measured = measure();
            over.store(true, Ordering::Relaxed);
            pager.join().map_err(|_| anyhow::anyhow!("paging panicked"))??;
            measured
        })
    };
    let ask_pages = || {
        let load = Load { connections: CLIENTS, work: &page, span: setup.span, ..worst_load };
        sample(&server, &load)
    };
    let cancel = || {
        let load = Load { connections: CANCELLING, status: 204, work: &cancels(), ..worst_load };
        sample(&server, &load)
    };
    let turns: [Turn<'_>; 3] = [
        Box::new(|| while_paging(&ask_pages)),
        Box::new(cancel),
        Box::new(|| while_paging(&cancel)),
    ];
    let [pages, cancels_alone, cancels] = go(setup.rounds, turns)?;

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
            ("hyper, SQLite", &sqlite),
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
            "cancel, 64 clients, while 2 page by that filter",
            rate,
            &cancels,
            ("without", &cancels_alone),
            Target::AtLeast(0.5),
        ),
    ])
}
