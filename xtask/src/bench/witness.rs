//! Sees what the checker judges: clients that list and clients that cancel the
//! same orders at once, beside an operator's commands, across a restart and a
//! `kill -9`, every answer noted with when it was asked for and when it had come.

use super::cancels::cancelling;
use super::checker::{self, Cancel, History, List};
use super::ground::{Ground, Store, request};
use super::id_set::IdSet;
use super::lists::LIST;
use super::server::{Program, Running};
use super::table::{Row, Target};
use super::wire::Connection;
use anyhow::Context;
use futures::future::join_all;
use serde::Deserialize;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Instant;

const ORDERS: i64 = 6_000;
/// Every so many-th order has shipped.
const SHIPPED: usize = 20;
/// The store is restarted after each; each cancels its part of the orders.
const PHASES: i64 = 3;
const LISTING: usize = 4;
const CANCELLING: usize = 16;
/// Cancels choose among so many neighbouring orders, so that most orders are
/// cancelled by several clients at about the same time.
const NEIGHBOURS: i64 = 8;

/// Sees a whole history and has it judged: a row, and what cannot be true.
pub fn measure(ground: &mut Ground) -> anyhow::Result<(Row, Vec<String>)> {
    let store = ground.store(ORDERS as u64)?;
    let shipped: Vec<String> = (1..=ORDERS).step_by(SHIPPED).map(|id| id.to_string()).collect();
    let ship = ["orders", "ship"].into_iter().chain(shipped.iter().map(String::as_str));
    ground.program.run(&store.directory, &ship.collect::<Vec<_>>())?;
    let mut history = History {
        orders: (1..=ORDERS as usize).collect(),
        shipped: (1..=ORDERS as usize).step_by(SHIPPED).collect(),
        ..History::default()
    };
    let clock = Instant::now();
    for phase in 0..PHASES {
        let server = ground.serve(&store)?;
        Witness { program: &ground.program, address: server.address, store: &store, clock, phase }
            .see(server, &mut history)?;
    }
    let server = ground.serve(&store)?;
    let (program, address) = (&ground.program, server.address);
    let last = Witness { program, address, store: &store, clock, phase: PHASES };
    last.look_back(&mut history)?;
    server.process.stop()?;

    let violations = checker::violations(&history);
    let row = Row::plain(
        "checker: lists and cancels at once, across restarts and kill -9",
        format!("{} violations", violations.len()),
        format!("{} lists, {} cancels", history.lists.len(), history.cancels.len()),
        violations.len() as f64,
        Target::AtMost(0.0),
    );
    Ok((row, violations))
}

/// A phase: one life of the server.
struct Witness<'a> {
    program: &'a Program,
    address: SocketAddr,
    store: &'a Store,
    clock: Instant,
    phase: i64,
}

impl Witness<'_> {
    /// Lists and cancels until this phase's orders are through, then ends the
    /// server: at once and in the middle of it in every other phase.
    fn see(&self, server: Running, history: &mut History) -> anyhow::Result<()> {
        self.look_back(history)?;
        let (over, next) = (AtomicBool::new(false), AtomicI64::new(0));
        std::thread::scope(|scope| {
            let lists = scope.spawn(|| self.lists(&over));
            let cancels = scope.spawn(|| self.cancels(&next));
            let operator = scope.spawn(|| self.operate(&over));
            let mut server = Some(server);
            if self.phase % 2 == 1 {
                while next.load(Ordering::Relaxed) < ORDERS / PHASES && !cancels.is_finished() {
                    std::thread::yield_now();
                }
                server.take().map_or(Ok(()), |server| server.process.kill())?;
            }
            let panicked = |_| anyhow::anyhow!("a client panicked");
            history.cancels.extend(cancels.join().map_err(panicked)??);
            over.store(true, Ordering::Relaxed);
            operator.join().map_err(panicked)??;
            let (lists, malformed) = lists.join().map_err(panicked)??;
            history.lists.extend(lists);
            history.malformed.extend(malformed);
            server.map_or(Ok(()), |server| server.process.stop())
        })
    }

    /// What is left after a restart: one list, and a second cancel of every
    /// tenth order.
    fn look_back(&self, history: &mut History) -> anyhow::Result<()> {
        let runtime = runtime()?;
        runtime.block_on(async {
            let mut connection = Connection::open(self.address).await?;
            let list = self.list(&mut connection).await?;
            history.lists.extend(list.map_err(|text| history.malformed.push(text)));
            for id in (1..self.first()).step_by(10) {
                history.cancels.push(self.cancel(&mut connection, id).await);
            }
            Ok(())
        })
    }

    /// The first order of this phase.
    fn first(&self) -> i64 {
        1 + self.phase * (ORDERS / PHASES)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.clock.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// An operator's commands open and close the store beside the server: if it
    /// has lost its locks on it, they tidy its log away under its feet.
    fn operate(&self, over: &AtomicBool) -> anyhow::Result<()> {
        while !over.load(Ordering::Relaxed) {
            self.program.run(&self.store.directory, &["orders", "show", "1"])?;
        }
        Ok(())
    }

    fn lists(&self, over: &AtomicBool) -> anyhow::Result<(Vec<List>, Vec<String>)> {
        let one = async || {
            let (mut lists, mut malformed) = (Vec::new(), Vec::new());
            let Ok(mut connection) = Connection::open(self.address).await else {
                return (lists, malformed);
            };
            while !over.load(Ordering::Relaxed) {
                match self.list(&mut connection).await {
                    Ok(Ok(list)) => lists.push(list),
                    Ok(Err(text)) => malformed.push(text),
                    // The server was killed.
                    Err(_) => break,
                }
            }
            (lists, malformed)
        };
        let all = runtime()?.block_on(join_all((0..LISTING).map(|_| one())));
        let (lists, malformed): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        Ok((lists.concat(), malformed.concat()))
    }

    /// One list: an error if it was cut off, a text if it is no list.
    async fn list(&self, connection: &mut Connection) -> anyhow::Result<Result<List, String>> {
        let (begun, mut body) = (self.now(), Vec::new());
        connection.send(&request("GET", LIST, Some(&self.store.key), false)).await?;
        let head = connection.receive(false, &mut |part| body.extend_from_slice(part)).await?;
        let ended = self.now();
        if head.status != 200 {
            return Ok(Err(format!("a list was answered {}", head.status)));
        }
        Ok(ids_of(&body).map(|ids| List { begun, ended, ids }))
    }

    fn cancels(&self, next: &AtomicI64) -> anyhow::Result<Vec<Cancel>> {
        let one = async |seed| {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut seen = Vec::new();
            let Ok(mut connection) = Connection::open(self.address).await else { return seen };
            loop {
                // Two cancels for each order, on the average.
                let turn = next.fetch_add(1, Ordering::Relaxed) / 2;
                if turn >= ORDERS / PHASES {
                    return seen;
                }
                let cancel = self
                    .cancel(&mut connection, self.first() + turn + random.i64(0..NEIGHBOURS))
                    .await;
                seen.push(cancel);
                if cancel.answer.is_none() {
                    return seen;
                }
            }
        };
        let all = runtime()?.block_on(join_all((0..CANCELLING as u64).map(one)));
        Ok(all.concat())
    }

    async fn cancel(&self, connection: &mut Connection, id: i64) -> Cancel {
        let mut request = Vec::new();
        cancelling(&self.store.key, id, id).next(&mut request);
        let begun = self.now();
        let answer = async {
            connection.send(&request).await?;
            connection.receive(false, &mut |_| {}).await
        };
        let answer = answer.await.ok().map(|head| (self.now(), head.status));
        Cancel { id, begun, answer }
    }
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("a runtime")
}

#[derive(Deserialize)]
struct Listed {
    id: usize,
}

/// The ids of a list, which are to be in ascending order, or what is wrong with
/// it.
fn ids_of(body: &[u8]) -> Result<IdSet, String> {
    let orders: Vec<Listed> =
        serde_json::from_slice(body).map_err(|error| format!("a list is no list: {error}"))?;
    if !orders.is_sorted_by(|one, next| one.id < next.id) {
        return Err("a list is not in ascending order of ids".to_string());
    }
    Ok(orders.into_iter().map(|order| order.id).collect())
}

#[cfg(test)]
mod tests {
    use super::ids_of;

    #[test]
    fn a_list_is_read_only_if_it_is_one() {
        assert_eq!(ids_of(br#"[{"id":3,"petId":1},{"id":70}]"#).unwrap().iter().count(), 2);
        assert_eq!(ids_of(b"[]").unwrap().iter().count(), 0);
        assert!(ids_of(br#"[{"id":3},{"id":3}]"#).is_err());
        assert!(ids_of(br#"[{"id":3},"#).is_err());
    }
}
