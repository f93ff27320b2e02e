//! Clients of a Redis under test: limiters as servers have them, and a connection beside.

use redis::aio::MultiplexedConnection;
use redis::{Client, InfoDict};
use slog::{Logger, o};
use std::time::Duration;
use store_orders::clock::Now;
use store_orders::config::LimitsLost;
use store_orders::limits::{Decision, KeyedRequest, Limits, RedisLimits};
use store_orders_api::plans::PlanLimits;
use testbed::redis::Redis;

/// The id of the store that is counted for.
pub const STORE_ID: &str = "0123456789abcdef";

/// As many requests a minute as the Free plan has, and no more on that day: on a busy machine
/// a minute passes while something is restarted.
pub const SIXTY_A_DAY: PlanLimits = PlanLimits { per_minute: 60, per_day: 60 };

/// No clock of ours has a part in the counting.
pub const NOW: Now = Now { monotonic: Duration::ZERO, wall: Duration::ZERO };

/// A limiter on this Redis, as a server has it by default.
pub async fn limiter(server: &Redis) -> anyhow::Result<RedisLimits> {
    limiter_at(&server.url(), LimitsLost::Refuse).await
}

/// A limiter on the Redis at this URL that does this while it has lost it.
pub async fn limiter_at(url: &str, lost: LimitsLost) -> anyhow::Result<RedisLimits> {
    limiter_with_log(url, lost, Logger::root(slog::Discard, o!())).await
}

/// The same, which logs there.
pub async fn limiter_with_log(
    url: &str,
    lost: LimitsLost,
    log: Logger,
) -> anyhow::Result<RedisLimits> {
    Ok(RedisLimits::open(url.parse()?, lost, STORE_ID, 1_000, log).await?)
}

/// A connection that counts nothing.
pub async fn connection(server: &Redis) -> anyhow::Result<MultiplexedConnection> {
    connect(&server.url()).await
}

/// The same, to the Redis at this URL.
pub async fn connect(url: &str) -> anyhow::Result<MultiplexedConnection> {
    Ok(Client::open(url)?.get_multiplexed_async_connection().await?)
}

/// Sends a command.
pub async fn send(connection: &mut MultiplexedConnection, words: &[&str]) -> anyhow::Result<()> {
    let mut command = redis::Cmd::new();
    command.arg(words);
    Ok(command.query_async(connection).await?)
}

/// Waits until all that was counted is in the file. While a sync of `everysec` is under way,
/// Redis answers before it writes, and a kill would lose what it keeps for up to 2 s.
pub async fn written(server: &mut MultiplexedConnection) -> anyhow::Result<()> {
    loop {
        let mut persistence = redis::cmd("INFO");
        let info: InfoDict = persistence.arg("persistence").query_async(server).await?;
        if info.get::<u64>("aof_buffer_length") == Some(0) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A request of this account with its one key.
pub fn request(account: i64, limits: PlanLimits) -> KeyedRequest {
    KeyedRequest { account, key: account, limits, unbanned_at_ms: 0 }
}

/// What this limiter decides.
pub async fn admit(limiter: &RedisLimits, request: KeyedRequest) -> Decision {
    limiter.admit(request, NOW).await
}
