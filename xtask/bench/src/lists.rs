//! Lists of a hundred, ten thousand and a million orders, plain and as gzip,
//! against dropshot with the same bytes.

use crate::baselines::{self, BASE};
use crate::connection::Connection;
use crate::load::{Work, request};
use crate::rounds::{asking, go};
use crate::server::MeasuredServer;
use crate::setup::BenchSetup;
use crate::table::{Figure, Row, Target};
use anyhow::Context;

/// The path of the list.
pub const LIST: &str = "/v1/store/orders";

/// A list of one length.
struct Length {
    orders: u64,
    /// As the table names it.
    name: &'static str,
    /// As many as keep the server busy and the machine's buffers small.
    connections: usize,
    figure: Figure,
    target: Target,
}

const LENGTHS: [Length; 3] = [
    Length {
        orders: 100,
        name: "list of 100",
        connections: 32,
        figure: Figure::Rate("req/s"),
        target: Target::AtLeast(0.75),
    },
    Length {
        orders: 10_000,
        name: "list of 10,000",
        connections: 8,
        figure: Figure::Bytes,
        target: Target::AtLeast(1.1),
    },
    Length {
        orders: 1_000_000,
        name: "list of 1,000,000",
        connections: 2,
        figure: Figure::Bytes,
        target: Target::AtLeast(1.0),
    },
];

/// Measures every length.
pub fn measure(setup: &mut BenchSetup) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for length in &LENGTHS {
        rows.extend(measure_length(setup, length)?);
    }
    Ok(rows)
}

fn measure_length(setup: &mut BenchSetup, length: &Length) -> anyhow::Result<Vec<Row>> {
    let store = setup.store(length.orders)?;
    let server = store.serve()?;
    let plain = Work::Same(request("GET", LIST, Some(&store.key), false));
    let gzip = Work::Same(request("GET", LIST, Some(&store.key), true));
    let body = setup.new_directory()?.join("orders");
    std::fs::write(&body, body_of(&server, &plain)?)?;
    let dropshot = baselines::start(&setup.new_directory()?, &[body])?;
    // It gets the same bytes, the key included, and ignores it.
    let same = Work::Same(request("GET", &format!("{BASE}orders"), Some(&store.key), false));

    let turn = |server, work| asking(setup, server, length.connections, work, 200);
    let turns = [turn(&server, &plain), turn(&dropshot, &same), turn(&server, &gzip)];
    let [list, dropshot, gzip] = go(setup.rounds, turns)?;

    let name = format!("{}, {} clients", length.name, length.connections);
    let note = if gzip.gzip() { "as gzip" } else { "asked for as gzip, sent plain" };
    let gzip_name = format!("{name}, {note}");
    Ok(vec![
        Row::compare(&name, length.figure, &list, ("dropshot", &dropshot), length.target),
        Row::compare(
            &gzip_name,
            Figure::Rate("req/s"),
            &gzip,
            ("plain", &list),
            Target::AtLeast(0.9),
        ),
    ])
}

/// The body of one answer, whatever its status.
pub fn body_of(server: &MeasuredServer, work: &Work) -> anyhow::Result<Vec<u8>> {
    let Work::Same(request) = work else { anyhow::bail!("one request is asked for") };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut connection = Connection::open(server.address).await?;
        connection.send(request).await?;
        let mut body = Vec::new();
        let mut whole = |part: &[u8]| body.extend_from_slice(part);
        connection.receive(&mut whole).await.context("a first answer")?;
        Ok(body)
    })
}

/// Waits until a list shows what another process has changed.
pub fn settle(server: &MeasuredServer, key: &str) -> anyhow::Result<()> {
    let work = Work::Same(request("GET", LIST, Some(key), false));
    body_of(server, &work).map(drop)
}
