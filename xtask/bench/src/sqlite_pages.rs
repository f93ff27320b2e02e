//! What pages by pet are compared with: hyper and SQLite with an index, as an ordinary service
//! reads them, in a process of its own. (sqlx cannot be built next to rusqlite: both link
//! SQLite.)

use crate::server::MeasuredServer;
use anyhow::Context;
use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rusqlite::{Connection, OpenFlags};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;

/// Orders on a page.
const LIMIT: usize = 100;

/// `sqlite-pages`: serves pages by pet.
#[derive(Debug, clap::Args)]
pub struct SqlitePagesArgs {
    /// The database
    database: PathBuf,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    orders: Vec<Order>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Order {
    id: i64,
    pet_id: i64,
    quantity: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ship_date: Option<String>,
    complete: bool,
    status: String,
}

/// Adds the index to a copy of the server's store.
pub fn index_by_pet(database: &Path) -> anyhow::Result<()> {
    let connection = Connection::open(database)?;
    connection.execute_batch(
        "CREATE INDEX orders_by_pet ON orders (pet_id, id) WHERE status <> 'cancelled'; ANALYZE",
    )?;
    Ok(())
}

/// Starts it; its log goes below `prefix`.
pub fn start(prefix: &Path, database: &Path) -> anyhow::Result<MeasuredServer> {
    let mut command = Command::new(std::env::current_exe()?);
    MeasuredServer::start(command.arg("sqlite-pages").arg(database), &prefix.join("sqlite.log"))
}

/// Serves pages until it is killed: connections to the database are kept, and used on blocking
/// threads.
pub fn serve(arguments: &SqlitePagesArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let database: Arc<Path> = arguments.database.as_path().into();
    let pool: Arc<Mutex<Vec<Connection>>> = Arc::default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        writeln!(out, "listening on http://{}", listener.local_addr()?)?;
        out.flush()?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let (database, pool) = (Arc::clone(&database), Arc::clone(&pool));
            let answer = move |request: Request<Incoming>| {
                let (database, pool) = (Arc::clone(&database), Arc::clone(&pool));
                async move {
                    let query = request.uri().query().unwrap_or_default();
                    let pet = query.strip_prefix("petId=").and_then(|pet| pet.parse().ok());
                    let pet: i64 = pet.context("petId is needed")?;
                    let read = move || in_pool(&database, &pool, |it| page_of(it, pet));
                    let page = tokio::task::spawn_blocking(read).await??;
                    let response =
                        Response::builder().header(header::CONTENT_TYPE, "application/json");
                    anyhow::Ok(response.body(Full::new(Bytes::from(serde_json::to_vec(&page)?)))?)
                }
            };
            tokio::spawn(async move {
                let connection = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service_fn(answer));
                // A client may go away.
                drop(connection.await);
            });
        }
    })
}

fn in_pool<T>(
    database: &Path,
    pool: &Mutex<Vec<Connection>>,
    read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> anyhow::Result<T> {
    let kept = pool.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let connection = match kept {
        Some(connection) => connection,
        None => Connection::open_with_flags(
            database,
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?,
    };
    let page = read(&connection);
    pool.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    Ok(page?)
}

fn page_of(connection: &Connection, pet: i64) -> rusqlite::Result<Page> {
    let mut statement = connection.prepare_cached(
        "SELECT id, pet_id, quantity, ship_date, complete, status FROM orders
         WHERE pet_id = ?1 AND status <> 'cancelled' ORDER BY id LIMIT ?2",
    )?;
    let rows = statement.query_map((pet, LIMIT as i64 + 1), |row| {
        Ok(Order {
            id: row.get(0)?,
            pet_id: row.get(1)?,
            quantity: row.get(2)?,
            ship_date: row.get(3)?,
            complete: row.get(4)?,
            status: row.get(5)?,
        })
    })?;
    let mut orders = rows.collect::<Result<Vec<_>, _>>()?;
    let next_cursor = orders.get(LIMIT).map(|next| next.id.to_string());
    orders.truncate(LIMIT);
    Ok(Page { orders, next_cursor })
}
