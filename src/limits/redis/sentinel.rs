//! Asks Sentinel which Redis is the primary.

use super::connecting::{ANSWER_LIMIT, CONNECT_LIMIT, ConnectError, open, open_blocking};
use crate::config::{RedisNode, RedisUrl};
use futures::future::join_all;
use redis::{Cmd, RedisConnectionInfo, RedisError};
use std::collections::HashMap;
use tokio::time::timeout;

/// What a Sentinel says of the primary.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Named {
    /// Greater after each failover: the Sentinel that knows of the latest is right.
    config_epoch: u64,
    node: RedisNode,
}

/// Why a Sentinel names none.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Redis(#[from] RedisError),
    #[error("it does not answer")]
    Silent,
    #[error("its answer has no address")]
    Malformed,
}

/// The primary. All Sentinels are asked at once: one that is cut off from the others would
/// still name the primary of before.
pub async fn primary(
    url: &RedisUrl,
    nodes: &[RedisNode],
    service: &str,
) -> Result<RedisNode, ConnectError> {
    let asked = nodes.iter().map(|node| async {
        let answer = timeout(CONNECT_LIMIT.max(ANSWER_LIMIT), ask(url, node, service)).await;
        answer.unwrap_or(Err(Refused::Silent))
    });
    latest(service, nodes.iter().zip(join_all(asked).await))
}

/// The same, for a command of the operator. Blocks.
pub fn primary_for_a_command(
    url: &RedisUrl,
    nodes: &[RedisNode],
    service: &str,
) -> Result<RedisNode, ConnectError> {
    let answers: Vec<_> =
        nodes.iter().map(|node| (node, ask_blocking(url, node, service))).collect();
    latest(service, answers)
}

fn latest<'a>(
    service: &str,
    answers: impl IntoIterator<Item = (&'a RedisNode, Result<Named, Refused>)>,
) -> Result<RedisNode, ConnectError> {
    let (mut found, mut why) = (Vec::new(), Vec::new());
    for (node, answer) in answers {
        match answer {
            Ok(named) => found.push(named),
            Err(error) => why.push((node.clone(), error.to_string())),
        }
    }
    let latest = found.into_iter().max_by_key(|named| named.config_epoch);
    let none = || ConnectError::NoPrimary { service: service.to_string(), why };
    latest.map(|named| named.node).ok_or_else(none)
}

async fn ask(url: &RedisUrl, node: &RedisNode, service: &str) -> Result<Named, Refused> {
    let mut connection = open(url, node, RedisConnectionInfo::default()).await?;
    let mut answer = question(service).query_async(&mut connection).await;
    if needs_password(&answer) {
        let mut connection = open(url, node, credentials(url)).await?;
        answer = question(service).query_async(&mut connection).await;
    }
    named(&answer?)
}

fn ask_blocking(url: &RedisUrl, node: &RedisNode, service: &str) -> Result<Named, Refused> {
    let mut connection = open_blocking(url, node, RedisConnectionInfo::default())?;
    let mut answer = question(service).query(&mut connection);
    if needs_password(&answer) {
        let mut connection = open_blocking(url, node, credentials(url))?;
        answer = question(service).query(&mut connection);
    }
    named(&answer?)
}

fn question(service: &str) -> Cmd {
    let mut question = redis::cmd("SENTINEL");
    question.arg("MASTER").arg(service);
    question
}

type Answer = HashMap<String, String>;

/// A Sentinel without a password refuses one, so the URL's is sent only to one that asks.
fn needs_password(answer: &Result<Answer, RedisError>) -> bool {
    answer.as_ref().is_err_and(|error| ["NOAUTH", "NOPERM"].map(Some).contains(&error.code()))
}

/// The user and password of the URL, without its database: a Sentinel has none.
fn credentials(url: &RedisUrl) -> RedisConnectionInfo {
    url.settings().clone().set_db(0)
}

fn named(answer: &Answer) -> Result<Named, Refused> {
    let field = |name: &str| answer.get(name).ok_or(Refused::Malformed);
    let host = field("ip")?.clone();
    let port = field("port")?.parse().map_err(|_| Refused::Malformed)?;
    let config_epoch = field("config-epoch")?.parse().map_err(|_| Refused::Malformed)?;
    Ok(Named { config_epoch, node: RedisNode { host, port } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(port: &str, epoch: &str) -> Answer {
        let fields = [("name", "orders"), ("ip", "::1"), ("port", port), ("config-epoch", epoch)];
        fields.map(|(name, value)| (name.to_string(), value.to_string())).into()
    }

    #[test]
    fn the_latest_failover_counts() {
        let node = |port| RedisNode { host: "::1".to_string(), port };
        let answers = [
            (&node(1), named(&answer("7001", "4"))),
            (&node(2), named(&answer("7002", "5"))),
            (&node(3), Err(Refused::Silent)),
        ];
        assert_eq!(latest("orders", answers).unwrap(), node(7002));
        let answers = [(&node(1), named(&answer("many", "4"))), (&node(2), Err(Refused::Silent))];
        assert_eq!(
            latest("orders", answers).unwrap_err().to_string(),
            "no Sentinel names the primary orders: [::1]:1: its answer has no address; \
             [::1]:2: it does not answer"
        );
    }
}
