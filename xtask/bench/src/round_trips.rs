//! Measures how many round trips to PostgreSQL a request waits for. Two replicas connect through a
//! relay that adds a delay.

use crate::connection::{Connection, block_on};
use crate::load::request;
use crate::postgres::{Database, FIRST_ACKNOWLEDGED_AFTER, url_of};
use crate::rounds::{Sample, Turn, Work, compare};
use crate::setup::{LIST, Setup, serve};
use crate::spread::Spread;
use crate::table::{Row, Target, Unit};
use futures::future::try_join_all;
use std::cell::Cell;
use std::time::{Duration, Instant};
use testbed::ServerProcess;
use testbed::relay::{Fault, Relay};

/// The time that the relay adds to each round trip. A request otherwise takes only a few
/// milliseconds, so its duration shows how many round trips it makes.
const ROUND_TRIP: Duration = Duration::from_millis(40);

/// The number of times that each client performs its steps in a [`Turn`]. The turn's result is the
/// median time of the last step, over all clients and repetitions.
const REPETITIONS: usize = 5;

/// The number of orders in the store. The clients cancel fewer orders than this.
const ORDERS: u64 = 1_000;

#[derive(Clone, Copy)]
enum Step {
    /// Sends a request with this method and path to the measured replica, and expects this status.
    Send(&'static str, &'static str, u16),
    /// Cancels the next order at the measured replica.
    CancelHere,
    /// Cancels the next order at the replica that is not measured.
    CancelElsewhere,
}

use Step::{CancelElsewhere, CancelHere, Send};

const GET_LIST: Step = Send("GET", LIST, 200);

/// The measured requests. Each entry has a name, steps, the number of concurrent clients, and the
/// maximum number of round trips. Only the last step is measured.
const REQUESTS: [(&str, &[Step], usize, f64); 9] = [
    ("list", &[GET_LIST], 1, 1.2),
    ("list, 32 clients", &[GET_LIST], 32, 1.3),
    ("list after a cancel at the same replica", &[CancelHere, GET_LIST], 1, 1.2),
    ("list after a cancel at another replica", &[CancelElsewhere, GET_LIST], 1, 1.2),
    ("page of v2", &[Send("GET", "/v2/store/orders", 200)], 1, 1.2),
    ("order of v2", &[Send("GET", "/v2/store/orders/1000", 200)], 1, 2.2),
    ("pet", &[Send("GET", "/v1/pets/1", 404)], 1, 2.2),
    ("cancel", &[CancelHere], 1, 2.2),
    ("cancel of an unknown order", &[Send("DELETE", "/v1/store/orders/0", 404)], 1, 2.2),
];

/// Two servers that share a store. The measured requests go to `here`.
struct Replicas {
    key: String,
    here: ServerProcess,
    elsewhere: ServerProcess,
    next_order: Cell<u64>,
}

pub fn measure(setup: &Setup) -> anyhow::Result<Vec<Row>> {
    let database = Database::start(setup)?;
    let relay = database.runtime.block_on(async { Relay::to(database.postgres.port) })?;
    let builds = setup.programs.map(|program| {
        let store = database.store(setup, program, ORDERS)?;
        let [direct, relayed] =
            [database.postgres.port, relay.port].map(|port| format!(":{port}/"));
        let url = url_of(&store)?.replace(&direct, &relayed);
        let replica = || serve(&setup.data(program, Some(&url))?);
        let next_order = Cell::new(1);
        Ok(Replicas { key: store.key, here: replica()?, elsewhere: replica()?, next_order })
    })?;
    std::thread::sleep(FIRST_ACKNOWLEDGED_AFTER);
    relay.set(Fault::Delay(ROUND_TRIP / 2));
    let mut rows = Vec::new();
    for (name, steps, clients, most) in REQUESTS {
        let name = format!("{name}, PostgreSQL {} ms away", ROUND_TRIP.as_millis());
        let work = Work { name, unit: Unit::Milliseconds, target: Target::AtMost(most) };
        let turns = builds.map(|replicas| Ok(replicas.turn(steps, clients)))?;
        let one: Turn<'_> = Box::new(|| Ok(Sample::milliseconds(ROUND_TRIP)));
        rows.extend(compare(setup.rounds, work, turns, "a round trip", one)?);
    }
    Ok(rows)
}

impl Replicas {
    fn turn(&self, steps: &'static [Step], clients: usize) -> Turn<'_> {
        Box::new(move || {
            let clients = (0..clients).map(|_| self.client(steps));
            let waits = block_on(async { try_join_all(clients).await })?;
            Ok(Sample::without_cpu(Spread::from_values(waits.into_iter().flatten()).median))
        })
    }

    /// Repeats the steps, and returns how many milliseconds the last step took each time.
    async fn client(&self, steps: &[Step]) -> anyhow::Result<Vec<f64>> {
        let mut here = Connection::open(self.here.address()?).await?;
        let mut elsewhere = Connection::open(self.elsewhere.address()?).await?;
        let mut waits = Vec::new();
        for _ in 0..REPETITIONS {
            let mut last = Duration::ZERO;
            for step in steps {
                let (connection, request, status) = match step {
                    Send(method, path, status) => {
                        (&mut here, request(method, path, &self.key), *status)
                    }
                    CancelHere => (&mut here, self.next_cancel(), 204),
                    CancelElsewhere => (&mut elsewhere, self.next_cancel(), 204),
                };
                let sent = Instant::now();
                connection.exchange(&request, status, |_| {}).await?;
                last = sent.elapsed();
            }
            waits.push(last.as_secs_f64() * 1e3);
        }
        Ok(waits)
    }

    fn next_cancel(&self) -> Vec<u8> {
        let order = self.next_order.replace(self.next_order.get() + 1);
        request("DELETE", &format!("{LIST}/{order}"), &self.key)
    }
}
