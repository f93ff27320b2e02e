//! The questions of lists. Each is one statement, which reads the store's last change and the rows
//! that a list lacks in one snapshot, and is shared by all lists that arrived before it was sent.
//!
//! A list never shares one that was sent before it arrived: a commit in between would be missing.
//! Instead of waiting for its answer, the next one is sent behind it.

use super::replica::Replica;
use super::{Session, gathered};
use crate::log::ErrorChain;
use crate::store::agreement::lease::WaitIsOver;
use crate::store::agreement::questions::{SharedQueries, next_from};
use crate::store::postgres::connecting::Connection;
use crate::store::postgres::error::{read, unreachable_because};
use crate::store::postgres::journal::{CHANGE_ID, answer_of};
use crate::store::postgres::rows::{changed_order, value};
use crate::store::postgres::timeouts::{QUESTIONS_UNDER_WAY, READ_LIMIT};
use crate::store::{
    ChangeNumber, ChangedOrders, FreshnessAnswer, FreshnessReport, LastChanges, StoreError,
};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use parking_lot::Mutex;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};
use tokio::time::sleep_until;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};

/// Commits follow one another.
const COMMITS_UNDER_WAY: usize = 1;

/// The most orders that come with a question: as many as one batch of cancellations has. What an
/// import or the operator has changed beyond that is read apart.
const MOST_CHANGED: i64 = 1_024;

/// The last change, whether the journal has the one of this number and id, and up to one order
/// more than [`MOST_CHANGED`] that changed after a change of the list: none after NULL. With
/// `commits` it locks the replica's row, together with the heartbeat, which writes to the log: its
/// commit waits for the standby. The last column says whether it did. As one statement it commits
/// by itself, and no other statement on the connection is part of its transaction.
fn select(commits: bool) -> String {
    let lock = if commits { "FOR KEY SHARE" } else { "LIMIT 0" };
    format!(
        "
    WITH locked AS (SELECT FROM replicas WHERE id = $4 {lock})
    SELECT version, last.id, orders, keys,
           EXISTS (SELECT FROM changes WHERE version = $1 AND {CHANGE_ID} = $2),
           changed.id, pet_id, quantity, ship_date, complete, status, EXISTS (SELECT FROM locked)
    FROM (SELECT version, {CHANGE_ID} AS id, orders, keys
          FROM changes ORDER BY version DESC LIMIT 1) last
    LEFT JOIN LATERAL (
        SELECT id, pet_id, quantity, ship_date, complete, status FROM orders
        WHERE changed_in > $3 ORDER BY changed_in LIMIT {MOST_CHANGED} + 1) changed ON true"
    )
}

/// The question that lists wait for which arrive now.
#[derive(Default)]
struct Next {
    answer: watch::Sender<FreshnessAnswer>,
    /// What the last of them has.
    list: Option<ChangeNumber>,
}

/// Where lists ask for the last changes.
pub struct ListQuestions {
    /// None once the session has ended.
    questions: Mutex<Option<SharedQueries<Next>>>,
    asked: Notify,
}

impl Default for ListQuestions {
    fn default() -> ListQuestions {
        let questions = Mutex::new(Some(SharedQueries::new(Next::default())));
        ListQuestions { questions, asked: Notify::new() }
    }
}

impl ListQuestions {
    /// The question for who arrives now and has this change; none if the session has ended.
    pub fn join(&self, list: Option<ChangeNumber>) -> Option<watch::Receiver<FreshnessAnswer>> {
        let mut questions = self.questions.lock();
        let next = questions.as_mut()?.join();
        next.list = list.or(next.list);
        let answer = next.answer.subscribe();
        drop(questions);
        self.asked.notify_one();
        Some(answer)
    }

    /// The next one to be sent, while so many may be under way.
    async fn due(&self, most: usize) -> Next {
        loop {
            if self.waiting(most) > 0 {
                gathered(|| self.waiting(most)).await;
                if let Some(questions) = &mut *self.questions.lock() {
                    return questions.send(Next::default());
                }
            }
            self.asked.notified().await;
        }
    }

    /// How many wait for the next one, if it can be sent.
    fn waiting(&self, most: usize) -> usize {
        let questions = self.questions.lock();
        let due = questions.as_ref().and_then(|questions| questions.due(most));
        due.map_or(0, |next| next.answer.receiver_count().max(1))
    }

    fn answered(&self) {
        if let Some(questions) = &mut *self.questions.lock() {
            questions.answered();
        }
    }

    /// The session has ended: who waits, and who asks from now on, has an error.
    pub fn close(&self) {
        drop(self.questions.lock().take());
    }
}

/// Answers lists until the session ends. With `commits` every question is confirmed by the
/// standby.
pub async fn answer_questions(session: &Session, replica: &Replica, commits: bool) {
    if let Err(error) = answer_until_ended(session, replica, commits).await {
        session.ending.end(&ErrorChain(&error));
    }
}

async fn answer_until_ended(
    session: &Session,
    replica: &Replica,
    commits: bool,
) -> Result<(), StoreError> {
    let select = session.freshness.client.prepare(&select(commits)).await.map_err(read)?;
    let mut ended = pin!(session.ending.ended());
    // Until then another replica may list from a primary that was replaced: what it shows would
    // come back after a list from here.
    let wait_is_over = loop {
        match session.wait.over(Instant::now()) {
            Ok(wait_is_over) => break wait_is_over,
            Err(until) => tokio::select! {
                () = sleep_until(until.into()) => {}
                _ = &mut ended => return Ok(()),
            },
        }
    };
    let most = if commits { COMMITS_UNDER_WAY } else { QUESTIONS_UNDER_WAY };
    let mut under_way = FuturesUnordered::new();
    let (mut sent, mut round_trip) = (Instant::now(), Duration::ZERO);
    loop {
        let follows = (!under_way.is_empty()).then(|| next_from(sent, round_trip, most));
        let due = async {
            if let Some(from) = follows {
                sleep_until(from.into()).await;
            }
            session.questions.due(most).await
        };
        tokio::select! {
            _ = &mut ended => return Ok(()),
            next = due => {
                sent = Instant::now();
                let asked = ask_store(session, &select, replica, next.list, commits, &wait_is_over);
                let answer = session.answer(READ_LIMIT, asked);
                under_way.push(async move {
                    // The receivers are gone if the clients went away.
                    next.answer.send_replace(Some(answer.await.map_err(Arc::new)));
                    sent.elapsed()
                });
            }
            Some(took) = under_way.next() => {
                round_trip = took;
                session.questions.answered();
            }
        }
    }
}

async fn ask_store(
    session: &Session,
    select: &Statement,
    replica: &Replica,
    list: Option<ChangeNumber>,
    commits: bool,
    _: &WaitIsOver,
) -> Result<FreshnessReport, StoreError> {
    let Connection { client, link, .. } = &session.freshness;
    let seen = replica.seen();
    let (number, id) = seen.last().map(|seen| (seen.number, &*seen.id)).unzip();
    let after = list.map(|list| list.number);
    let parameters: [&(dyn ToSql + Sync); 4] = [&number, &id, &after, &replica.id()];
    let unconfirmed = link.unconfirmed();
    // It has returned once it is committed.
    let rows = client.query(select, &parameters).await.map_err(read)?;
    if commits {
        link.require_confirmed_since(unconfirmed)?;
        // Without the row nothing was written, and no standby was waited for.
        if !rows.iter().all(|row| value(row, 11).unwrap_or_default()) {
            return Err(unreachable_because("the row of this replica was removed"));
        }
    }
    // The lease must be valid when the answer is there.
    let last_changes = session.accept_under_lease(replica, answer_of(&rows)?)?;
    let changes = changes(&rows, list, last_changes)?;
    Ok(FreshnessReport { history: session.history, last_changes, changes })
}

/// What changed after this change of the list, if that is not too much.
fn changes(
    rows: &[Row],
    list: Option<ChangeNumber>,
    last_changes: LastChanges,
) -> Result<Option<Arc<ChangedOrders>>, StoreError> {
    let Some(after) = list.filter(|_| rows.len() as i64 <= MOST_CHANGED) else { return Ok(None) };
    if !last_changes.of_orders().has_more_than(after) {
        return Ok(None);
    }
    let mut orders = Vec::with_capacity(rows.len());
    for row in rows {
        // Without a change there is a row without an order.
        if value::<Option<i64>>(row, 5)?.is_some() {
            orders.push(changed_order(row, 5)?);
        }
    }
    orders.sort_unstable_by_key(|order| order.id);
    Ok(Some(Arc::new(ChangedOrders { after, orders })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_waits_when_the_session_ends_has_an_error() {
        let questions = ListQuestions::default();
        let mut waiting = questions.join(None).unwrap();
        questions.close();
        assert!(waiting.wait_for(Option::is_some).await.is_err());
        assert!(questions.join(None).is_none());
    }
}
