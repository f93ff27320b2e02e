//! The figures of the limits that no plan changes: the windows, the bans, and
//! the limit of an address. The one source for the document and for the server.

/// The length of the shorter window.
pub const MINUTE_SECONDS: u32 = 60;

/// The length of the longer window.
pub const DAY_SECONDS: u32 = 86_400;

/// The length of a first ban; each further one is twice as long.
pub const FIRST_BAN_SECONDS: u32 = 300;

/// The longest ban.
pub const MAX_BAN_SECONDS: u32 = 3_600;

/// After this long without a ban the next one is a first one again.
pub const BAN_FORGIVEN_AFTER_HOURS: u32 = 24;

/// Requests a minute from one address without a valid key, unless configured.
pub const KEYLESS_PER_MINUTE: u32 = 1_000;
