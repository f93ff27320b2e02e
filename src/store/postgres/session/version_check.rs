//! The check of lists: one statement, shared by all lists that arrived before it was sent.
//!
//! One connection and one statement under way. A list never shares one that was sent before
//! it arrived: a commit in between would be missing.

use super::replica::Replica;
use super::{CheckSender, Session, gathered};
use crate::log::ErrorChain;
use crate::store::postgres::connecting::Connection;
use crate::store::postgres::error::read;
use crate::store::postgres::journal::last_and_known;
use crate::store::timeouts::READ_LIMIT;
use crate::store::{StoreError, Versions};
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::sleep_until;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Statement};

/// The statements of a check.
struct Statements {
    begin: Statement,
    /// Writes to the log, so that COMMIT waits for the standby; shares the row with the
    /// heartbeat.
    lock: Statement,
    commit: Statement,
}

impl Statements {
    async fn prepare(client: &Client) -> Result<Statements, Error> {
        let lock = "SELECT FROM replicas WHERE id = $1 FOR KEY SHARE";
        Ok(Statements {
            begin: client.prepare("BEGIN").await?,
            lock: client.prepare(lock).await?,
            commit: client.prepare("COMMIT").await?,
        })
    }
}

/// Answers lists until the session ends. With `commits` every check is confirmed by the
/// standby.
pub async fn answer_checks(
    session: Arc<Session>,
    mut asked: UnboundedReceiver<CheckSender>,
    replica: Arc<Replica>,
    commits: bool,
) {
    let statements = match Statements::prepare(&session.checker.client).await {
        Ok(statements) => statements,
        Err(error) => return session.end(&ErrorChain(&read(error))),
    };
    // Until then another replica may list from a primary that was replaced: what it shows would
    // come back after a list from here.
    tokio::select! {
        () = sleep_until(session.acknowledges_from.into()) => {}
        () = session.ended() => return,
    }
    let mut waiting = Vec::new();
    loop {
        tokio::select! {
            Some(first) = asked.recv() => waiting.push(first),
            // The queue has no end of its own: the session, which is held here, can send to it.
            () = session.ended() => return,
        }
        gathered(&asked).await;
        while let Ok(next) = asked.try_recv() {
            waiting.push(next);
        }
        let check = check(&session, &statements, &replica, commits);
        let answer = session.answer(READ_LIMIT, check).await;
        let has_failed = answer.is_err();
        let answer = answer.map_err(Arc::new);
        for sender in waiting.drain(..) {
            // The receiver is gone if the client went away.
            let _ = sender.send(answer.clone());
        }
        if has_failed && session.require_open().is_err() {
            return;
        }
    }
}

async fn check(
    session: &Session,
    statements: &Statements,
    replica: &Replica,
    commits: bool,
) -> Result<Versions, StoreError> {
    let Connection { client, link, .. } = &session.checker;
    let seen = replica.seen();
    let select_last = last_and_known(client, &session.select_last_and_known, &seen);
    let found = if commits {
        let id: &(dyn ToSql + Sync) = &replica.id();
        let (of_replica, unconfirmed) = ([id], link.unconfirmed());
        let (begun, locked, found, committed) = tokio::join!(
            client.execute(&statements.begin, &[]),
            client.query(&statements.lock, &of_replica),
            select_last,
            client.execute(&statements.commit, &[]),
        );
        begun.map_err(read)?;
        locked.map_err(read)?;
        committed.map_err(read)?;
        link.require_confirmed_since(unconfirmed)?;
        found?
    } else {
        select_last.await?
    };
    // Judged when the answer is there: a primary that was replaced answers too.
    session.require_confirmed()?;
    session.follow(replica, found)
}
