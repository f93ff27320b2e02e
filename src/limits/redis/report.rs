//! Reads the counts from Redis, beside servers that count.

use super::connecting::ConnectError;
use super::names::CountNames;
use super::primary::connect_to_read;
use crate::clock::Now;
use crate::config::RedisUrl;
use crate::limits::report::{AccountUsage, Ban, LimitsReport, ReportError, WindowUsage};
use parking_lot::Mutex;
use redis::{Commands, Connection, RedisError};
use std::time::Duration;

/// How many keys are read at a time.
const PAGE: usize = 500;

/// The counts in Redis.
pub struct RedisLimitsReport {
    connection: Mutex<Connection>,
    names: CountNames,
}

/// Why counts cannot be read.
#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error("Redis does not answer")]
    Redis(#[from] RedisError),
    #[error("{0} is not what a server writes")]
    Malformed(String),
}

impl From<ReadError> for ReportError {
    fn from(error: ReadError) -> ReportError {
        ReportError(error.into())
    }
}

impl RedisLimitsReport {
    /// Connects, for the store with this id. Blocks.
    pub fn open(url: &RedisUrl, store_id: &str) -> Result<RedisLimitsReport, ConnectError> {
        let connection = Mutex::new(connect_to_read(url)?);
        Ok(RedisLimitsReport { connection, names: CountNames::new(store_id) })
    }

    /// Microseconds of the counting time, as the script of the next batch would have it.
    fn now(&self, connection: &mut Connection) -> Result<f64, ReadError> {
        let (seconds, micros): (f64, f64) = redis::cmd("TIME").query(connection)?;
        let wall = seconds * 1e6 + micros;
        let clock: Option<Vec<u8>> = connection.get(self.names.clock())?;
        let Some(clock) = clock else { return Ok(wall) };
        let mut fields = Stored(&clock);
        let times = fields.time().zip(fields.time());
        let (last, offset) = times.ok_or(ReadError::Malformed(self.names.clock()))?;
        Ok((wall + offset).max(last))
    }

    fn read_usage(&self, account: i64) -> Result<AccountUsage, ReadError> {
        let connection = &mut *self.connection.lock();
        let name = self.names.account(account);
        let stored: Option<Vec<u8>> = connection.get(&name)?;
        let now = self.now(connection)?;
        // Nothing is kept back.
        let age = Some(Duration::ZERO);
        let Some(stored) = stored else {
            return Ok(AccountUsage { age, ..AccountUsage::default() });
        };
        let mut fields = Stored(&stored);
        let mut window = || {
            let (closes_at, requests) = (fields.time()?, fields.number()?);
            let resets_in = until(closes_at, now);
            Some(resets_in.map(|resets_in| WindowUsage { requests, resets_in }))
        };
        let (minute, day) = window().zip(window()).ok_or(ReadError::Malformed(name))?;
        Ok(AccountUsage { minute, day, age })
    }

    fn read_bans(&self) -> Result<Vec<Ban>, ReadError> {
        let connection = &mut *self.connection.lock();
        let prefix = self.names.keys();
        let pattern = format!("{prefix}*");
        let names = connection.scan_match::<_, String>(pattern)?.collect::<Result<Vec<_>, _>>()?;
        let now = self.now(connection)?;
        let mut bans = Vec::new();
        for page in names.chunks(PAGE) {
            let stored: Vec<Option<Vec<u8>>> = redis::cmd("MGET").arg(page).query(connection)?;
            for (name, stored) in page.iter().zip(stored) {
                let Some(stored) = stored else { continue };
                let malformed = || ReadError::Malformed(name.clone());
                let row = name.strip_prefix(&prefix);
                let key = row.and_then(|row| row.parse().ok()).ok_or_else(malformed)?;
                bans.extend(ban(key, &stored, now).ok_or_else(malformed)?);
            }
        }
        // A scan may name a key twice.
        bans.sort_unstable_by_key(|ban: &Ban| ban.key);
        bans.dedup_by_key(|ban| ban.key);
        Ok(bans)
    }
}

impl LimitsReport for RedisLimitsReport {
    fn usage(&self, account: i64, _: Now) -> Result<AccountUsage, ReportError> {
        Ok(self.read_usage(account)?)
    }

    fn bans(&self, _: Now) -> Result<Vec<Ban>, ReportError> {
        Ok(self.read_bans()?)
    }
}

/// The ban of a key, if it has one that has not ended; `None` if this is not what is stored
/// of a key.
fn ban(key: i64, stored: &[u8], now: f64) -> Option<Option<Ban>> {
    let mut fields = Stored(stored);
    let (_, _, ban_seconds) = (fields.time()?, fields.number()?, fields.number()?);
    let (banned_until, unbanned_at_ms) = (fields.time()?, fields.time()? as i64);
    let ends_in = until(banned_until, now).filter(|_| ban_seconds > 0);
    Some(ends_in.map(|ends_in| Ban { key, ends_in, unbanned_at_ms }))
}

/// The time from `now`, if it is not over; both in microseconds.
fn until(then: f64, now: f64) -> Option<Duration> {
    (then > now).then(|| Duration::from_micros((then - now) as u64))
}

/// What is left of a stored value, as admit.lua packs it.
struct Stored<'a>(&'a [u8]);

impl Stored<'_> {
    fn time(&mut self) -> Option<f64> {
        let (time, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(f64::from_le_bytes(*time))
    }

    fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*number))
    }
}
