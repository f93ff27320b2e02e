//! Whether a list of a hundred waits for a list of a million: its p99 while
//! another client reads one million-order list after another, against that
//! without.
//!
//! A server has one list, so the readers of the million are asked first and hold
//! their snapshots unread while all but a hundred orders are cancelled.

use crate::connection::{Connection, Framing};
use crate::lists::{LIST, listing, settle};
use crate::load::request;
use crate::load::{Load, Work};
use crate::rounds::{Sample, Turn, go, sample};
use crate::server::MeasuredServer;
use crate::setup::BenchSetup;
use crate::table::{Figure, Row, Target};
use anyhow::{Context, bail};
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::runtime::Runtime;

const MILLION: u64 = 1_000_000;
const LISTS_PER_ROUND: usize = 8;

/// Lists of a million whose first bytes are here and whose rest waits.
struct Waiting {
    runtime: Runtime,
    lists: Vec<(Connection, u64)>,
}

/// Measures the list of a hundred during the streams and alone.
pub fn measure(setup: &mut BenchSetup) -> anyhow::Result<Vec<Row>> {
    let store = setup.store(MILLION)?;
    let server = store.serve()?;
    let work = Work::Same(request("GET", LIST, Some(&store.key), false));
    let load = listing(setup, &server, &work);
    let asked = (0..=setup.rounds).map(|_| Waiting::ask(&load));
    let mut asked: Vec<Waiting> = asked.collect::<anyhow::Result<_>>()?;
    store.cancel_after(100)?;
    settle(&server, &store.key)?;

    let streamed: Turn<'_> = Box::new(|| {
        let waiting = asked.pop().context("more rounds than lists that wait")?;
        while_streaming(waiting, &server, &load)
    });
    let alone: Turn<'_> = Box::new(|| sample(&server, &load));
    let [streamed, alone] = go(setup.rounds, [streamed, alone])?;
    let name = "list of 100, 1 client, while a million is streamed";
    let target = Target::AtMost(3.0);
    Ok(vec![Row::compare(name, Figure::P99, &streamed, ("without", &alone), target)])
}

/// Lists of a hundred for as long as another thread reads lists of a million.
fn while_streaming(
    waiting: Waiting,
    server: &MeasuredServer,
    load: &Load<'_>,
) -> anyhow::Result<Sample> {
    let over = AtomicBool::new(false);
    let load = Load { stop: Some(&over), span: load.span * 100, ..*load };
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let read = waiting.read();
            over.store(true, Ordering::Relaxed);
            read
        });
        let sample = sample(server, &load);
        reader.join().map_err(|_| anyhow::anyhow!("the reader of the million panicked"))??;
        sample
    })
}

impl Waiting {
    /// Asks for the lists of a round, and reads no more than their heads.
    fn ask(load: &Load<'_>) -> anyhow::Result<Waiting> {
        let Work::Same(request) = load.work else { bail!("one request is asked for") };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let lists = runtime.block_on(async {
            let mut lists = Vec::new();
            for _ in 0..LISTS_PER_ROUND {
                let mut connection = Connection::open(load.address).await?;
                connection.send(request).await?;
                let Framing::Length(length) = connection.head().await?.framing else {
                    bail!("a list does not say how long it is")
                };
                lists.push((connection, length));
            }
            anyhow::Ok(lists)
        })?;
        Ok(Waiting { runtime, lists })
    }

    /// Reads them to their ends, one after the other.
    fn read(self) -> anyhow::Result<()> {
        self.runtime.block_on(async {
            for (mut connection, length) in self.lists {
                connection.exactly(length, &mut |_| {}).await?;
            }
            Ok(())
        })
    }
}
