//! For each client address, counts the requests without a valid key, in a table of bounded size.
//! While the table is full, new addresses share one window.
//!
//! The counts only have to stop floods. So each server keeps its own counts, and forgets them when
//! it stops.

use super::window::FixedWindow;
use super::{Decision, RateLimitStatus, Window};
use crate::clock::Timestamp;
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

/// The maximum number of addresses with their own window. The table takes 4.1 MiB. It has two slots
/// for each address, and each slot takes 33 bytes: 32 for the entry and one for the hash table's
/// own data.
pub const MAX_ADDRESSES: usize = 65_536;

/// The minimum time between two removals of closed windows from a full table. Without this minimum,
/// each new address would cause a scan of the table during a flood.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// The unit for counting requests: an IPv4 address, or an IPv6 /64, because a client usually has a
/// whole /64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressKey {
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

#[derive(Debug)]
pub struct AddressTable {
    windows: HashMap<AddressKey, FixedWindow>,
    max_addresses: usize,
    /// The window that new addresses share while the table is full.
    overflow: FixedWindow,
    next_sweep: Timestamp,
}

impl AddressTable {
    pub fn new(max_addresses: usize) -> AddressTable {
        AddressTable {
            windows: HashMap::new(),
            max_addresses,
            overflow: FixedWindow::default(),
            next_sweep: Timestamp::default(),
        }
    }

    /// Counts a request from this address unless the limit `per_minute` is reached.
    pub fn admit(&mut self, address: AddressKey, now: Timestamp, per_minute: u32) -> Decision {
        if let Some(window) = self.windows.get_mut(&address) {
            return window.admit(now, Window::Minute, per_minute);
        }
        if self.windows.len() >= self.max_addresses {
            self.sweep(now);
        }
        if self.windows.len() >= self.max_addresses {
            return self.overflow.admit(now, Window::Minute, per_minute);
        }
        let mut window = FixedWindow::default();
        let decision = window.admit(now, Window::Minute, per_minute);
        self.windows.insert(address, window);
        decision
    }

    /// Returns the status of this address without counting a request.
    pub fn status(&self, address: AddressKey, now: Timestamp, per_minute: u32) -> RateLimitStatus {
        let is_full = self.windows.len() >= self.max_addresses;
        let unknown = if is_full { self.overflow } else { FixedWindow::default() };
        let window = self.windows.get(&address).copied().unwrap_or(unknown);
        window.current_status(now, Window::Minute, per_minute)
    }

    fn sweep(&mut self, now: Timestamp) {
        if now >= self.next_sweep {
            self.next_sweep = now + SWEEP_INTERVAL;
            self.windows.retain(|_, window| window.is_open(now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remaining(addresses: &mut AddressTable, address: u32, seconds: u64) -> Option<u32> {
        let now = Timestamp::from(Duration::from_secs(seconds));
        match addresses.admit(AddressKey::V4(address), now, 3) {
            Decision::Admitted(status) => Some(status.remaining),
            _ => None,
        }
    }

    #[test]
    fn when_the_table_is_full_new_addresses_share_one_window() {
        let mut addresses = AddressTable::new(2);
        assert_eq!(remaining(&mut addresses, 1, 0), Some(2));
        assert_eq!(remaining(&mut addresses, 2, 30), Some(2));
        let shared: Vec<_> = (3..7).map(|new| remaining(&mut addresses, new, 30)).collect();
        assert_eq!(shared, [Some(2), Some(1), Some(0), None]);
        assert_eq!(remaining(&mut addresses, 1, 30), Some(1), "known addresses keep their windows");
        assert_eq!(remaining(&mut addresses, 3, 59), None);
        assert_eq!(remaining(&mut addresses, 3, 60), Some(2), "the first window has closed");
        assert_eq!(remaining(&mut addresses, 4, 60), None, "the second has not");
        assert_eq!(remaining(&mut addresses, 4, 90), Some(2));
        assert_eq!(addresses.windows.len(), 2);
    }

    #[test]
    fn the_status_of_an_address_counts_nothing() {
        let mut addresses = AddressTable::new(1);
        let status = |addresses: &AddressTable, address, seconds| {
            let now = Timestamp::from(Duration::from_secs(seconds));
            let status = addresses.status(AddressKey::V4(address), now, 3);
            (status.remaining, status.resets_in.as_secs())
        };
        assert_eq!([status(&addresses, 1, 0), status(&addresses, 1, 10)], [(3, 60); 2]);
        assert_eq!(remaining(&mut addresses, 1, 10), Some(2));
        assert_eq!(status(&addresses, 1, 20), (2, 50));
        assert_eq!(status(&addresses, 1, 70), (3, 60), "the window has closed");
        assert_eq!(remaining(&mut addresses, 2, 20), Some(2));
        assert_eq!(status(&addresses, 3, 30), (2, 50), "new addresses share a window");
        assert_eq!(remaining(&mut addresses, 3, 30), Some(1));
    }
}
