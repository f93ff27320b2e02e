//! Somebody's transaction holds a lock for longer than cancellations wait: those that need it are
//! answered 503 in time, everything else goes on, and no session ends.

use super::setup::{OnPrimary, expect_agreement, replicas};
use crate::replicas::{Replica, bases};
use history::ANSWER_LIMIT;
use reqwest::{Client, Method};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use testbed::postgres::{DATABASE, Installed, Postgres};
use testbed::{Key, Program, Report};
use tokio::task::JoinSet;

const ORDERS: i64 = 1_000;

/// What is locked, and for how long: longer than a batch of cancellations and the next one.
const LOCKS: [(&str, &str, Duration); 3] = [
    ("versions", "SELECT FROM versions FOR NO KEY UPDATE", Duration::from_secs(12)),
    ("an order", "SELECT FROM orders WHERE id = 1 FOR UPDATE", Duration::from_secs(12)),
    ("all keys", "SELECT FROM keys FOR UPDATE", Duration::from_secs(5)),
];

/// How soon what was locked is written.
const RECOVERY: Duration = Duration::from_secs(3);

/// How long each client rests between two requests: cancellations arrive in the middle of a
/// batch that waits.
const REST: Duration = Duration::from_millis(70);

/// Runs it.
pub async fn run(
    installed: &Installed,
    program: &Program,
    report: &mut Report,
) -> anyhow::Result<()> {
    let OnPrimary { cluster: _cluster, primary, store, mut key } =
        OnPrimary::start(installed, program, ORDERS).await?;
    let replicas = replicas(&store, 2).await?;
    for (what, lock, lasts) in LOCKS {
        // Its first use is to be recorded.
        key = store.key(what).await?;
        let admin = primary.admin(DATABASE).await?;
        admin.batch_execute(&format!("BEGIN; {lock}")).await?;
        let until = Instant::now() + lasts;
        let mut clients = JoinSet::new();
        for (number, base) in bases(&replicas).into_iter().enumerate() {
            let orders = format!("{base}/store/orders");
            clients.spawn(ask(Method::GET, orders.clone(), key.clone(), until));
            // One order for both servers, and one for each.
            for id in [1, 2 + number] {
                let order = format!("{orders}/{id}");
                clients.spawn(ask(Method::DELETE, order, key.clone(), until));
            }
        }
        let mut all = Answers::default();
        while let Some(answers) = clients.join_next().await {
            all.add(answers??);
        }
        admin.batch_execute("COMMIT").await?;
        let lists = all.of("GET");
        report.expect(lists.keys().eq([&200]), || format!("{what}: lists answered {lists:?}"));
        report.figure(format!("{what}: lists {lists:?}, cancellations {:?}", all.of("DELETE")));
        report.time(format!("{what}: slowest answer"), all.slowest, ANSWER_LIMIT);
        expect_no_session_lost(what, &replicas, report);
    }
    expect_use(&primary, &key, report).await?;
    expect_agreement(&replicas, &key, report).await
}

/// Statuses by method, and the longest time that one took.
#[derive(Default)]
struct Answers {
    statuses: BTreeMap<(String, u16), u64>,
    slowest: Duration,
}

impl Answers {
    fn add(&mut self, other: Answers) {
        for (key, count) in other.statuses {
            *self.statuses.entry(key).or_default() += count;
        }
        self.slowest = self.slowest.max(other.slowest);
    }

    fn of(&self, method: &str) -> BTreeMap<u16, u64> {
        let of_method = self.statuses.iter().filter(|((own, _), _)| own == method);
        of_method.map(|((_, status), count)| (*status, *count)).collect()
    }
}

/// Sends the same request again and again until then.
async fn ask(method: Method, url: String, key: Key, until: Instant) -> anyhow::Result<Answers> {
    let (http, mut answers) = (Client::new(), Answers::default());
    while Instant::now() < until {
        let sent = Instant::now();
        let request = http.request(method.clone(), &url).bearer_auth(&key.text);
        let status = request.send().await?.status().as_u16();
        answers.slowest = answers.slowest.max(sent.elapsed());
        *answers.statuses.entry((method.to_string(), status)).or_default() += 1;
        tokio::time::sleep(REST).await;
    }
    Ok(answers)
}

fn expect_no_session_lost(what: &str, replicas: &[Replica], report: &mut Report) {
    for replica in replicas {
        let log = replica.server.log();
        let lost: Vec<&str> = log.lines().filter(|line| line.contains("store lost")).collect();
        report.expect(lost.is_empty(), || format!("{what}: {}", lost.join(" / ")));
    }
}

/// The use of the key that was locked is recorded when it no longer is.
async fn expect_use(primary: &Postgres, key: &Key, report: &mut Report) -> anyhow::Result<()> {
    let (admin, began) = (primary.admin(DATABASE).await?, Instant::now());
    let query = "SELECT used_at IS NOT NULL FROM keys WHERE id = $1";
    while !admin.query_one(query, &[&key.id]).await?.try_get::<_, bool>(0)? {
        if began.elapsed() > 2 * RECOVERY {
            report.expect(false, || "the use of the locked key is not recorded".to_string());
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    report.time("the use of the locked key recorded", began.elapsed(), RECOVERY);
    Ok(())
}
