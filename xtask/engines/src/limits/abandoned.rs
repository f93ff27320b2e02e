//! Clients that leave before their verdict: a ban that one of them began is counted, logged
//! once, and known while Redis is lost.

use super::clients::{NOW, SIXTY_A_DAY, admit, request};
use super::events::logging_limiter;
use anyhow::ensure;
use futures::future::join_all;
use slog::{Discard, Logger, o};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store_orders::config::LimitsLost;
use store_orders::limits::{Decision, Limits};
use testbed::Report;
use testbed::redis::InstalledRedis;
use testbed::relay::{Fault, Relay};

const ACCOUNT: i64 = 1;
const BANNED: &str = "key banned";

/// Runs it.
pub async fn run(installed: &InstalledRedis, report: &mut Report) -> anyhow::Result<()> {
    let server = installed.start(&[])?;
    let relay = Relay::to(server.port()).await?;
    let (limits, events) = logging_limiter(relay.port, LimitsLost::Local).await?;
    for _ in 0..SIXTY_A_DAY.per_day {
        let decision = admit(&limits, request(ACCOUNT, SIXTY_A_DAY)).await;
        ensure!(matches!(decision, Decision::Admitted(_)), "{decision:?}");
    }
    // Long enough that every client has left when the answers come.
    relay.set(Fault::Delay(Duration::from_millis(40)));
    let (key_id, log) = (Arc::from("key_of_the_account"), Logger::root(Discard, o!()));
    let (began, mut left) = (Instant::now(), 0);
    while limits.bans().get() == 0 {
        ensure!(began.elapsed() < Duration::from_secs(30), "no ban after {left} requests");
        let of_account = request(ACCOUNT, SIXTY_A_DAY);
        let sent = (0..100).map(|_| limits.admit_logged(of_account, &key_id, NOW, &log));
        let answers = tokio::time::timeout(Duration::from_millis(20), join_all(sent)).await;
        report.expect(answers.is_err(), || "clients had their answers".to_string());
        left += 100;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    report.expect(events.count(BANNED) == 1, || format!("logged {}", events.count(BANNED)));
    let _killed = server.kill()?;
    let alone = admit(&limits, request(ACCOUNT, SIXTY_A_DAY)).await;
    let holds = matches!(alone, Decision::Banned { begins: false, .. });
    report.expect(holds, || format!("the banned key, without Redis: {alone:?}"));
    let figures = (limits.bans().get(), events.count(BANNED));
    report.expect(figures == (1, 1), || format!("bans counted and logged: {figures:?}"));
    report.figure(format!("a ban begun by one of {left} clients that had left"));
    Ok(())
}
