//! Callers without a valid key, counted by address in a table that cannot grow
//! past its bound: it only sheds floods.

use super::timestamp::Timestamp;
use super::window::Count;
use super::{Decision, Window};
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

/// How many addresses are counted one by one. At 32 bytes an entry, in a table
/// that is half empty, they take 4.1 MiB.
pub const MOST_ADDRESSES: usize = 65_536;

/// Whom an address stands for: an IPv4 address or an IPv6 /64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressKey {
    /// One IPv4 address.
    V4(u32),
    /// The first 64 bits of an IPv6 address.
    V6(u64),
}

impl From<IpAddr> for AddressKey {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(v4) => AddressKey::V4(v4.to_bits()),
            IpAddr::V6(v6) => AddressKey::V6((v6.to_bits() >> 64) as u64),
        }
    }
}

/// The table of addresses.
#[derive(Debug)]
pub struct Addresses {
    counts: HashMap<AddressKey, Count>,
    most: usize,
    /// Counts whoever comes when the table is full.
    overflow: Count,
    /// When it is next worth looking for windows that have closed.
    sweep_at: Timestamp,
}

impl Addresses {
    /// A table of at most this many addresses.
    pub fn bounded(most: usize) -> Addresses {
        Addresses {
            counts: HashMap::new(),
            most,
            overflow: Count::default(),
            sweep_at: Timestamp::default(),
        }
    }

    /// Counts one request of this address under `per_minute`.
    pub fn admit(&mut self, address: AddressKey, now: Timestamp, per_minute: u32) -> Decision {
        if let Some(count) = self.counts.get_mut(&address) {
            return count.admit(now, Window::Minute, per_minute);
        }
        if self.counts.len() >= self.most {
            self.sweep(now);
        }
        if self.counts.len() >= self.most {
            return self.overflow.admit(now, Window::Minute, per_minute);
        }
        let mut count = Count::default();
        let verdict = count.admit(now, Window::Minute, per_minute);
        self.counts.insert(address, count);
        verdict
    }

    /// Forgets windows that have closed: at most once a second, so that a flood
    /// of new addresses does not pay for it with every request.
    fn sweep(&mut self, now: Timestamp) {
        if now < self.sweep_at {
            return;
        }
        self.sweep_at = now + Duration::from_secs(1);
        self.counts.retain(|_, count| count.is_open(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remaining(addresses: &mut Addresses, address: u32, seconds: u64) -> Option<u32> {
        let now = Timestamp::from(Duration::from_secs(seconds));
        match addresses.admit(AddressKey::V4(address), now, 3) {
            Decision::Admitted(figures) => Some(figures.remaining),
            _ => None,
        }
    }

    #[test]
    fn when_the_table_is_full_new_addresses_share_one_bucket() {
        let mut addresses = Addresses::bounded(2);
        assert_eq!(remaining(&mut addresses, 1, 0), Some(2));
        assert_eq!(remaining(&mut addresses, 2, 30), Some(2));
        let shared: Vec<_> = (3..7).map(|new| remaining(&mut addresses, new, 30)).collect();
        assert_eq!(shared, [Some(2), Some(1), Some(0), None]);
        assert_eq!(remaining(&mut addresses, 1, 30), Some(1), "those in the table keep their own");
        assert_eq!(remaining(&mut addresses, 3, 59), None);
        assert_eq!(remaining(&mut addresses, 3, 60), Some(2), "the first window has closed");
        assert_eq!(remaining(&mut addresses, 4, 60), None, "the second has not");
        assert_eq!(remaining(&mut addresses, 4, 90), Some(2));
        assert_eq!(addresses.counts.len(), 2);
    }
}
