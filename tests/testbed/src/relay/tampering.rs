//! Relays that falsify what they carry, for controls: what a server that lacks a care would
//! do, done from outside.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What a relay does to what it carries.
#[derive(Clone, Copy, Debug, Default)]
pub enum Tampering {
    /// Nothing.
    #[default]
    None,
    /// Whatever is sent to the server arrives twice: on a second connection too, whose answers
    /// nobody reads.
    Twice,
    /// PostgreSQL's answers about versions are this old, on connections of this application.
    StaleVersions {
        /// Its `application_name`.
        application: &'static str,
        /// How old at least, once one is.
        age: Duration,
    },
}

/// A row of two int8 in binary, as PostgreSQL sends it: its type and length, then for each
/// column its length and its value.
const ROW_START: &[u8] = b"D\0\0\0\x1e\0\x02\0\0\0\x08";
const ROW_LENGTH: usize = 31;

/// The versions that a connection was told.
#[derive(Debug, Default)]
pub struct ToldVersions {
    is_of_application: bool,
    told: VecDeque<(Instant, Vec<u8>)>,
}

/// What is known of one connection.
#[derive(Debug)]
pub struct Tampered {
    tampering: Tampering,
    versions: Mutex<ToldVersions>,
}

impl Tampered {
    /// A new connection.
    pub fn new(tampering: Tampering) -> Tampered {
        Tampered { tampering, versions: Mutex::default() }
    }

    /// Looks at what the client sends.
    pub fn request(&self, bytes: &[u8]) {
        if let Tampering::StaleVersions { application, .. } = self.tampering {
            let mut versions = self.versions.lock();
            let is_there =
                bytes.windows(application.len()).any(|part| part == application.as_bytes());
            versions.is_of_application |= is_there;
        }
    }

    /// Changes what the server answers.
    pub fn answer(&self, bytes: &mut [u8]) {
        let Tampering::StaleVersions { age, .. } = self.tampering else { return };
        let mut versions = self.versions.lock();
        if !versions.is_of_application {
            return;
        }
        let found = bytes.windows(ROW_START.len()).position(|part| part == ROW_START);
        let row = found.and_then(|at| bytes.get_mut(at..at + ROW_LENGTH));
        let Some(row) = row else { return };
        versions.told.push_back((Instant::now(), row.to_vec()));
        // The oldest stays, so that an age that nothing reaches means the first answer.
        while versions.told.get(1).is_some_and(|(at, _)| at.elapsed() >= age) {
            versions.told.pop_front();
        }
        if let Some((_, old)) = versions.told.front() {
            row.copy_from_slice(old);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(orders: u8, keys: u8) -> Vec<u8> {
        let mut row = b"2\0\0\0\x04".to_vec();
        row.extend(ROW_START);
        row.extend([0, 0, 0, 0, 0, 0, 0, orders, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, keys]);
        row.extend(b"C\0\0\0\x0dSELECT 1\0");
        row
    }

    #[test]
    fn versions_are_stale_for_the_application_alone() {
        let application = "store-orders checker";
        let stale = |age| Tampered::new(Tampering::StaleVersions { application, age });
        let told = |tampered: &Tampered, mut row: Vec<u8>| {
            tampered.answer(&mut row);
            row
        };
        let other = stale(Duration::MAX);
        other.request(b"application_name\0store-orders writer\0");
        told(&other, row(1, 1));
        assert_eq!(told(&other, row(2, 2)), row(2, 2));
        let frozen = stale(Duration::MAX);
        frozen.request(b"application_name\0store-orders checker\0");
        assert_eq!(told(&frozen, row(1, 1)), row(1, 1));
        assert_eq!(told(&frozen, row(2, 3)), row(1, 1));
        assert_eq!(told(&frozen, b"Z\0\0\0\x05I".to_vec()), b"Z\0\0\0\x05I");
        let current = stale(Duration::ZERO);
        current.request(b"application_name\0store-orders checker\0");
        told(&current, row(1, 1));
        assert_eq!(told(&current, row(2, 3)), row(2, 3));
    }
}
