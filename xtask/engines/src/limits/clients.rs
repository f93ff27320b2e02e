//! Clients of a Redis under test: limiters as servers have them, and a connection beside.

use anyhow::Context;
use redis::Client;
use redis::aio::MultiplexedConnection;
use slog::{Logger, o};
use std::time::Duration;
use store_orders::clock::Now;
use store_orders::config::LimitsLost;
use store_orders::limits::{Decision, KeyedRequest, Limits, RedisLimits};
use store_orders_api::plans::{Plan, PlanLimits};
use testbed::redis::Redis;

/// The id of the store that is counted for.
pub const STORE_ID: &str = "0123456789abcdef";

/// No clock of ours has a part in the counting.
pub const NOW: Now = Now { monotonic: Duration::ZERO, wall: Duration::ZERO };

/// A limiter on this Redis, as a server has it by default.
pub async fn limiter(server: &Redis) -> anyhow::Result<RedisLimits> {
    limiter_that(server, LimitsLost::Refuse).await
}

/// A limiter that does this while it has lost Redis.
pub async fn limiter_that(server: &Redis, lost: LimitsLost) -> anyhow::Result<RedisLimits> {
    let log = Logger::root(slog::Discard, o!());
    Ok(RedisLimits::open(server.url().parse()?, lost, STORE_ID, 1_000, log).await?)
}

/// A connection that counts nothing.
pub async fn connection(server: &Redis) -> anyhow::Result<MultiplexedConnection> {
    Ok(Client::open(server.url())?.get_multiplexed_async_connection().await?)
}

/// The limits of the Free plan.
pub fn free() -> anyhow::Result<PlanLimits> {
    Plan::Free.limits().context("the Free plan has limits")
}

/// A request of this account with its one key.
pub fn request(account: i64, limits: PlanLimits) -> KeyedRequest {
    KeyedRequest { account, key: account, limits, unbanned_at_ms: 0 }
}

/// What this limiter decides.
pub async fn admit(limiter: &RedisLimits, request: KeyedRequest) -> Decision {
    limiter.admit(request, NOW).await
}
