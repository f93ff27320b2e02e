//! One batch of requests: the script that admits them in Redis, what it is given, and what
//! it answers.

use super::names::CountNames;
use crate::limits::{Decision, KeyedRequest, RateLimitStatus, Window};
use redis::aio::MultiplexedConnection;
use redis::{Cmd, ErrorKind, RedisError, Script, ServerErrorKind};
use std::time::Duration;

/// The most requests of one batch: while its script runs, Redis does nothing else.
pub const MAX_BATCH: usize = 128;

/// The length of an answer before its verdicts, and of each verdict.
const HEADER_LENGTH: usize = 24;
const VERDICT_LENGTH: usize = 17;

/// Identifies the counts: random, and stored when they begin. Other counts have another.
pub type Epoch = [u8; 8];

/// The script that admits a batch in one atomic step, for one store.
#[derive(Debug)]
pub struct AdmissionScript {
    names: CountNames,
    source: &'static str,
    hash: String,
}

/// What the script answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Answers {
    /// The counting time at which the batch was admitted: whole microseconds.
    pub now: Duration,
    /// That of the counts.
    pub epoch: Epoch,
    /// The number of this batch, from 1: each has a greater one than those before.
    pub batch: u64,
    /// In the order of the requests.
    pub decisions: Vec<Decision>,
}

/// Why a batch has no answer. It may have been counted nevertheless.
#[derive(Debug, thiserror::Error)]
pub enum AdmissionError {
    /// Redis refused it, or did not answer.
    #[error(transparent)]
    Redis(#[from] RedisError),
    /// The answer is not the script's.
    #[error("Redis answered {0} bytes for {1} requests, or a verdict that does not exist")]
    Malformed(usize, usize),
}

impl AdmissionScript {
    /// The script for the store with this id.
    pub fn new(store_id: &str) -> AdmissionScript {
        let source = include_str!("admit.lua");
        let hash = Script::new(source).get_hash().to_string();
        AdmissionScript { names: CountNames::new(store_id), source, hash }
    }

    /// The names of what it counts.
    pub fn names(&self) -> &CountNames {
        &self.names
    }

    /// Admits these, in their order; at most [`MAX_BATCH`]. None is ever sent again, unless
    /// Redis said that it does not know the script.
    pub async fn run(
        &self,
        connection: &mut MultiplexedConnection,
        requests: &[KeyedRequest],
    ) -> Result<Answers, AdmissionError> {
        let known = self.command("EVALSHA", &self.hash, requests);
        let answer: Vec<u8> = match known.query_async(connection).await {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.command("EVAL", self.source, requests).query_async(connection).await?
            }
            other => other?,
        };
        Answers::read(&answer, requests.len())
            .ok_or(AdmissionError::Malformed(answer.len(), requests.len()))
    }

    fn command(&self, verb: &str, script: &str, requests: &[KeyedRequest]) -> Cmd {
        let mut command = redis::cmd(verb);
        command.arg(script).arg(1 + 2 * requests.len());
        let rows = requests.iter().map(|request| (request.account, request.key));
        self.names.append_to(&mut command, rows);
        let mut limits = Vec::with_capacity(16 * requests.len());
        for KeyedRequest { limits: plan, unbanned_at_ms, .. } in requests {
            limits.extend(plan.per_minute.to_le_bytes());
            limits.extend(plan.per_day.to_le_bytes());
            // Exact for milliseconds of the next 285,000 years.
            limits.extend((*unbanned_at_ms as f64).to_le_bytes());
        }
        command.arg(&rand::random::<Epoch>()).arg(limits);
        command
    }
}

impl Answers {
    /// `None` if these are not the answers to as many requests.
    fn read(bytes: &[u8], requests: usize) -> Option<Answers> {
        let (header, verdicts) = bytes.split_at_checked(HEADER_LENGTH)?;
        let decisions: Vec<Decision> =
            verdicts.chunks(VERDICT_LENGTH).map(decision).collect::<Option<_>>()?;
        let mut fields = Fields(header);
        let answers = Answers {
            now: fields.micros()?,
            epoch: fields.take()?,
            batch: f64::from_le_bytes(fields.take()?) as u64,
            decisions,
        };
        (answers.decisions.len() == requests).then_some(answers)
    }
}

fn decision(verdict: &[u8]) -> Option<Decision> {
    let mut fields = Fields(verdict);
    let [kind] = fields.take()?;
    let status = RateLimitStatus {
        limit: u32::from_le_bytes(fields.take()?),
        remaining: u32::from_le_bytes(fields.take()?),
        resets_in: fields.micros()?,
    };
    Some(match kind {
        0 => Decision::Admitted(status),
        1 => Decision::Limited(status, Window::Minute),
        2 => Decision::Limited(status, Window::Day),
        3 | 4 => Decision::Banned { status, begins: kind == 4 },
        _ => return None,
    })
}

/// What is left to read.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*field)
    }

    fn micros(&mut self) -> Option<Duration> {
        let micros = f64::from_le_bytes(self.take()?);
        (micros >= 0.0).then(|| Duration::from_micros(micros as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store_orders_api::limits::{
        BAN_FORGIVEN_AFTER_HOURS, DAY_SECONDS, FIRST_BAN_SECONDS, MAX_BAN_SECONDS, MINUTE_SECONDS,
    };

    fn answer(kind: u8) -> Vec<u8> {
        let mut bytes = 1_500_000_f64.to_le_bytes().to_vec();
        bytes.extend(*b"an epoch");
        bytes.extend(7_f64.to_le_bytes());
        bytes.push(kind);
        bytes.extend(60_u32.to_le_bytes());
        bytes.extend(59_u32.to_le_bytes());
        bytes.extend(2_000_001_f64.to_le_bytes());
        bytes
    }

    #[test]
    fn the_script_counts_with_the_figures_of_the_memory() {
        let script = AdmissionScript::new("s").source;
        let windows = format!("local MINUTE, DAY = {MINUTE_SECONDS}e6, {DAY_SECONDS}e6\n");
        let bans = format!(
            "local FIRST_BAN_SECONDS, MAX_BAN_SECONDS = {FIRST_BAN_SECONDS}, {MAX_BAN_SECONDS}\n"
        );
        assert!(script.contains(&windows) && script.contains(&bans), "{script}");
        assert!(script.contains("seconds == 0 or now >= banned_until + DAY\n"), "{script}");
        assert_eq!(BAN_FORGIVEN_AFTER_HOURS * 3_600, DAY_SECONDS);
    }

    #[test]
    fn answers_are_read_as_the_script_packs_them() {
        let status = RateLimitStatus {
            limit: 60,
            remaining: 59,
            resets_in: Duration::from_micros(2_000_001),
        };
        for (kind, expected) in [
            (0, Decision::Admitted(status)),
            (1, Decision::Limited(status, Window::Minute)),
            (2, Decision::Limited(status, Window::Day)),
            (3, Decision::Banned { status, begins: false }),
            (4, Decision::Banned { status, begins: true }),
        ] {
            let answers = Answers::read(&answer(kind), 1).unwrap();
            assert_eq!((answers.now, answers.batch), (Duration::from_millis(1_500), 7));
            assert_eq!((&answers.epoch, answers.decisions), (b"an epoch", vec![expected]));
        }
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let whole = answer(0);
        for length in 0..whole.len() {
            assert_eq!(Answers::read(&whole[..length], 1), None, "{length} bytes");
        }
        assert_eq!(Answers::read(&whole, 2), None);
        assert_eq!(Answers::read(&answer(5), 1), None);
        assert_eq!(Answers::read(&[whole, vec![0]].concat(), 1), None);
    }
}
