//! What can happen to a database that counts: every answer comes in time, nothing is admitted
//! beyond its limit, and no lock is left behind.

use super::clients::{ANSWER_LIMIT, Limiter, SIXTY_A_DAY, admitted, request};
use crate::replicas::{Replica, StoreUnderTest, url_of};
use futures::future::join_all;
use std::time::{Duration, Instant};
use store_orders::limits::Decision;
use testbed::postgres::{Cluster, DATABASE, Installed, Pair, Postgres};
use testbed::relay::{Fault, Relay};
use testbed::{Program, Report, Signal, SmallDisk};

/// The account whose day is used up, and which must not be admitted again.
const EXHAUSTED: i64 = 1;

/// How soon requests are counted again.
const RECOVERY: Duration = Duration::from_secs(5);

/// Room for a small cluster.
const DISK_KIB: u64 = 160 * 1024;

/// How soon counts are on the disk, and at the standby, without `synchronous_commit`.
const WRITTEN_WITHIN: Duration = Duration::from_secs(1);

async fn exhaust(limiter: &Limiter) -> anyhow::Result<()> {
    let sent = (0..60).map(|_| limiter.admit(request(EXHAUSTED, SIXTY_A_DAY)));
    let admitted = admitted(&join_all(sent).await);
    anyhow::ensure!(admitted == 60, "{admitted} of 60 were admitted");
    Ok(())
}

/// Requests are counted again, and what was counted is kept.
async fn expect_recovery(what: &str, limiter: &Limiter, report: &mut Report) -> anyhow::Result<()> {
    let took = limiter.counts_within(2 * RECOVERY).await?;
    report.time(format!("{what}: until requests were counted"), took, RECOVERY);
    let exhausted = limiter.admit(request(EXHAUSTED, SIXTY_A_DAY)).await;
    let is_refused = matches!(exhausted, Decision::Limited(..) | Decision::Banned { .. });
    report.expect(is_refused, || format!("{what}: the exhausted account got {exhausted:?}"));
    Ok(())
}

/// A lock on the tables, a suspended database, a lost network.
pub async fn run(installed: &Installed, report: &mut Report) -> anyhow::Result<()> {
    let cluster = Cluster::create(installed)?;
    let primary = cluster.primary("primary", &[]).await?;
    let relay = Relay::to(primary.port).await?;
    let limiter = Limiter::open(&Postgres::url_at(relay.port), None).await?;
    exhaust(&limiter).await?;
    let admin = primary.admin(DATABASE).await?;
    let session = "SELECT pid FROM pg_stat_activity WHERE application_name = 'store-orders limits'";
    let before: i32 = admin.query_one(session, &[]).await?.try_get(0)?;
    admin.batch_execute("BEGIN; LOCK TABLE limits_accounts").await?;
    // One batch after the other waits.
    let others = (1..30).map(async |number| {
        tokio::time::sleep(number * Duration::from_millis(100)).await;
        limiter.admit(request(EXHAUSTED, SIXTY_A_DAY)).await
    });
    let (_, others) =
        tokio::join!(limiter.expect_refusal("tables locked", report), join_all(others));
    let is_refused = |one: &Decision| matches!(one, Decision::Unavailable(_));
    report.expect(others.iter().all(is_refused), || format!("tables locked: {others:?}"));
    admin.batch_execute("COMMIT").await?;
    expect_recovery("tables locked", &limiter, report).await?;
    let after: i32 = admin.query_one(session, &[]).await?.try_get(0)?;
    report.expect(before == after, || "the lock ended the session".to_string());

    primary.signal_all(Signal::STOP)?;
    limiter.expect_refusal("suspended", report).await;
    primary.signal_all(Signal::CONT)?;
    expect_recovery("suspended", &limiter, report).await?;

    for (what, fault) in
        [("silent", Fault::Silent), ("without answers", Fault::NoAnswers), ("reset", Fault::Reset)]
    {
        relay.set(fault);
        limiter.expect_refusal(what, report).await;
        relay.set(Fault::None);
        expect_recovery(what, &limiter, report).await?;
    }
    Ok(())
}

/// A primary is killed and its standby promoted: windows and bans are kept.
pub async fn run_promotion(installed: &Installed, report: &mut Report) -> anyhow::Result<()> {
    let cluster = Cluster::create(installed)?;
    let Pair { primary, standby, link: _link } = cluster.pair().await?;
    let url = url_of([primary.port, standby.port]);
    let limiter = Limiter::open(&url, Some("limits")).await?;
    exhaust(&limiter).await?;
    let struck = (0..70).map(|_| limiter.admit(request(EXHAUSTED, SIXTY_A_DAY)));
    let has_begun = join_all(struck).await.iter().any(|one| matches!(one, Decision::Banned { .. }));
    report.expect(has_begun, || "no ban began".to_string());
    tokio::time::sleep(WRITTEN_WITHIN).await;
    primary.kill()?;
    limiter.expect_refusal("primary killed", report).await;
    standby.promote().await?;
    expect_recovery("promoted", &limiter, report).await?;
    let banned = limiter.admit(request(EXHAUSTED, SIXTY_A_DAY)).await;
    let holds = matches!(banned, Decision::Banned { begins: false, .. });
    report.expect(holds, || format!("the banned key after the promotion: {banned:?}"));
    Ok(())
}

/// A full disk: what cannot be counted is refused.
pub async fn run_full_disk(installed: &Installed, report: &mut Report) -> anyhow::Result<()> {
    let disk = SmallDisk::mount(DISK_KIB)?;
    let cluster = Cluster::create_in(installed, disk.path())?;
    let small = [("max_wal_size", "32MB"), ("min_wal_size", "32MB"), ("wal_recycle", "off")];
    let primary = cluster.primary("primary", &small).await?;
    let limiter = Limiter::open(&primary.url(), None).await?;
    exhaust(&limiter).await?;
    tokio::time::sleep(WRITTEN_WITHIN).await;
    disk.fill(0)?;
    let began = Instant::now();
    let (mut slowest, mut account) = (Duration::ZERO, 1_000);
    while began.elapsed() < Duration::from_secs(5) {
        let sent = Instant::now();
        let accounts = account..account + 200;
        join_all(accounts.map(|row| limiter.admit(request(row, SIXTY_A_DAY)))).await;
        slowest = slowest.max(sent.elapsed());
        account += 200;
        let exhausted = limiter.admit(request(EXHAUSTED, SIXTY_A_DAY)).await;
        let is_admitted = matches!(exhausted, Decision::Admitted(_));
        report.expect(!is_admitted, || "the exhausted account was admitted".to_string());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    report.time("disk full: slowest answer", slowest, ANSWER_LIMIT);
    disk.make_room()?;
    expect_recovery("room again", &limiter, report).await
}

/// A server process that is suspended under load keeps no other from counting.
pub async fn run_suspended(
    installed: &Installed,
    program: &Program,
    report: &mut Report,
) -> anyhow::Result<()> {
    let cluster = Cluster::create(installed)?;
    let primary = cluster.primary("primary", &[]).await?;
    let store = StoreUnderTest::create(program, &primary.url(), 10).await?;
    let (key, mut replicas) = (store.key("clients").await?, Vec::<Replica>::new());
    for name in ["one", "other"] {
        replicas.push(store.replica(name, &store.url, &[]).await?);
    }
    let [one, other] = &replicas[..] else { anyhow::bail!("two replicas") };
    for _ in 0..5 {
        let until = Instant::now() + Duration::from_millis(500);
        let load = (0..16).map(|_| async {
            while Instant::now() < until {
                // What is under way when the server is suspended is given up.
                let _ = tokio::time::timeout_at(until.into(), one.list(&key)).await;
            }
        });
        let suspend = async {
            tokio::time::sleep(Duration::from_millis(250)).await;
            one.server.signal(Signal::STOP)
        };
        let (_, suspended) = tokio::join!(join_all(load), suspend);
        suspended?;
        let began = Instant::now();
        // The same account, whose row the suspended server was updating.
        other.list(&key).await?;
        report.time("a list next to a suspended server", began.elapsed(), Duration::from_secs(1));
        one.server.signal(Signal::CONT)?;
        one.ready(RECOVERY).await?;
    }
    Ok(())
}
