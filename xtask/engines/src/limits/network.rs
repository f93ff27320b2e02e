//! A network between a server and Redis that delays, is silent, or loses answers: every
//! answer comes in time, and no window admits more than its limit.

use super::clients::{SIXTY_A_DAY, admit, connection, limiter_at, request};
use super::expectations::{exhaust, expect_lost, is_back, is_refused};
use futures::future::join_all;
use redis::AsyncCommands;
use std::time::{Duration, Instant};
use store_orders::config::LimitsLost;
use store_orders::limits::Decision;
use store_orders::limits::redis::ANSWER_LIMIT;
use testbed::Report;
use testbed::redis::InstalledRedis;
use testbed::relay::{Fault, Relay};

/// An account that is asked for throughout.
const COUNTED: i64 = 3;

/// Runs it.
pub async fn run(installed: &InstalledRedis, report: &mut Report) -> anyhow::Result<()> {
    let server = installed.start(&[])?;
    let relay = Relay::to(server.port()).await?;
    let url = format!("redis://127.0.0.1:{}", relay.port);
    let limits = limiter_at(&url, LimitsLost::Refuse).await?;
    exhaust(&limits).await?;

    relay.set(Fault::Delay(Duration::from_millis(50)));
    let began = Instant::now();
    let slow = admit(&limits, request(COUNTED, SIXTY_A_DAY)).await;
    report.expect(matches!(slow, Decision::Admitted(_)), || format!("50 ms away: {slow:?}"));
    report.time("an answer of a Redis 50 ms away", began.elapsed(), ANSWER_LIMIT);
    let mut admitted = 1;
    for (what, fault) in [
        ("300 ms away", Fault::Delay(Duration::from_millis(300))),
        ("silent", Fault::Silent),
        ("without answers", Fault::NoAnswers),
        ("reset", Fault::Reset),
    ] {
        relay.set(Fault::None);
        is_back(what, &limits, report).await?;
        let plan = SIXTY_A_DAY;
        let before = join_all((0..5).map(|_| admit(&limits, request(COUNTED, plan)))).await;
        admitted += before.iter().filter(|one| matches!(one, Decision::Admitted(_))).count();
        relay.set(fault);
        // What is sent into the fault may be counted; it is never sent again.
        let began = Instant::now();
        let lost = admit(&limits, request(COUNTED, plan)).await;
        report.time(format!("{what}: the first answer"), began.elapsed(), ANSWER_LIMIT);
        report.expect(matches!(lost, Decision::Unavailable(_)), || format!("{what}: {lost:?}"));
        is_refused(what, &limits, report).await?;
    }
    relay.set(Fault::None);
    is_back("after all", &limits, report).await?;
    while matches!(admit(&limits, request(COUNTED, SIXTY_A_DAY)).await, Decision::Admitted(_)) {
        admitted += 1;
    }
    // Each of the four faults may have swallowed the answer of one counted request.
    report.expect((56..=60).contains(&admitted), || format!("{admitted} admitted in a minute"));
    expect_lost("throughout", 0, &limits, report);
    let names: Vec<String> = connection(&server).await?.keys("*").await?;
    report.figure(format!("{admitted} of 60 admitted through four faults, {} rows", names.len()));
    Ok(())
}
