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

/// How many keys are read at a time: while they are, Redis does nothing else.
const KEYS_AT_A_TIME: usize = 500;

/// The lengths of what admit.lua stores. Of another length a value is none of ours, and
/// counts as missing, as it does there.
const CLOCK_LENGTH: usize = 32;
const ACCOUNT_LENGTH: usize = 24;
const KEY_LENGTH: usize = 32;

/// The counts in Redis.
pub struct RedisLimitsReport {
    connection: Mutex<Connection>,
    names: CountNames,
}

/// Redis does not answer.
#[derive(Debug, thiserror::Error)]
#[error("Redis does not answer")]
struct ReadError(#[from] RedisError);

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
        let times = clock.as_deref().and_then(|clock| {
            let mut fields = Stored::of_length(clock, CLOCK_LENGTH)?;
            fields.time().zip(fields.time())
        });
        Ok(times.map_or(wall, |(last, offset)| (wall + offset).max(last)))
    }

    fn read_usage(&self, account: i64) -> Result<AccountUsage, ReadError> {
        let connection = &mut *self.connection.lock();
        let stored: Option<Vec<u8>> = connection.get(self.names.account(account))?;
        let now = self.now(connection)?;
        let (minute, day) = stored.and_then(|stored| windows(&stored, now)).unwrap_or_default();
        // Nothing is kept back.
        Ok(AccountUsage { minute, day, age: Some(Duration::ZERO) })
    }

    fn read_bans(&self, keys: &[i64]) -> Result<Vec<Ban>, ReadError> {
        let connection = &mut *self.connection.lock();
        let now = self.now(connection)?;
        let mut bans = Vec::new();
        for keys in keys.chunks(KEYS_AT_A_TIME) {
            let mut read = redis::cmd("MGET");
            for key in keys {
                read.arg(self.names.key(*key));
            }
            let stored: Vec<Option<Vec<u8>>> = read.query(connection)?;
            let found = keys.iter().zip(stored);
            bans.extend(found.filter_map(|(key, stored)| ban(*key, &stored?, now)));
        }
        Ok(bans)
    }
}

impl LimitsReport for RedisLimitsReport {
    fn usage(&self, account: i64, _: Now) -> Result<AccountUsage, ReportError> {
        Ok(self.read_usage(account)?)
    }

    fn bans(&self, keys: &[i64], _: Now) -> Result<Vec<Ban>, ReportError> {
        Ok(self.read_bans(keys)?)
    }
}

/// The open windows of an account, the minute and the day.
fn windows(stored: &[u8], now: f64) -> Option<(Option<WindowUsage>, Option<WindowUsage>)> {
    let mut fields = Stored::of_length(stored, ACCOUNT_LENGTH)?;
    let mut window = || {
        let (closes_at, requests) = (fields.time()?, fields.number()?);
        let resets_in = until(closes_at, now);
        Some(resets_in.map(|resets_in| WindowUsage { requests, resets_in }))
    };
    window().zip(window())
}

/// The ban of a key, if it has one that has not ended.
fn ban(key: i64, stored: &[u8], now: f64) -> Option<Ban> {
    let mut fields = Stored::of_length(stored, KEY_LENGTH)?;
    let (_, _, ban_seconds) = (fields.time()?, fields.number()?, fields.number()?);
    let (banned_until, unbanned_at_ms) = (fields.time()?, fields.time()? as i64);
    let ends_in = until(banned_until, now).filter(|_| ban_seconds > 0)?;
    Some(Ban { key, ends_in, unbanned_at_ms })
}

/// The time from `now`, if it is not over; both in microseconds.
fn until(then: f64, now: f64) -> Option<Duration> {
    (then > now).then(|| Duration::from_micros((then - now) as u64))
}

/// What is left of a stored value, as admit.lua packs it.
struct Stored<'a>(&'a [u8]);

impl Stored<'_> {
    fn of_length(value: &[u8], length: usize) -> Option<Stored<'_>> {
        (value.len() == length).then_some(Stored(value))
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    /// A key's value, with a ban until 9 s.
    fn banned() -> Vec<u8> {
        let mut value = 1e6_f64.to_le_bytes().to_vec();
        value.extend(7_u32.to_le_bytes());
        value.extend(300_u32.to_le_bytes());
        value.extend(9e6_f64.to_le_bytes());
        value.extend(5_f64.to_le_bytes());
        value
    }

    #[test]
    fn a_ban_is_read_as_the_script_packs_it_until_it_ends() {
        let found = Ban { key: 3, ends_in: Duration::from_secs(8), unbanned_at_ms: 5 };
        assert_eq!(ban(3, &banned(), 1e6), Some(found));
        assert_eq!(ban(3, &banned(), 9e6), None);
    }

    #[test]
    fn a_value_of_another_length_counts_as_missing() {
        let lengths = "local CLOCK_LENGTH, ACCOUNT_LENGTH, KEY_LENGTH = 32, 24, 32\n";
        assert!(include_str!("admit.lua").contains(lengths));
        assert_eq!((CLOCK_LENGTH, ACCOUNT_LENGTH, KEY_LENGTH), (32, 24, 32));
        let longer = [banned(), vec![0]].concat();
        assert_eq!((ban(3, &longer, 1e6), ban(3, &[], 1e6)), (None, None));
        assert!(ban(3, &banned()[..31], 1e6).is_none());
        assert!(windows(&[0; 24], 0.0).is_some() && windows(&[0; 25], 0.0).is_none());
    }
}
