//! The constants of rate limiting that all plans share. Tests compare the guide with these
//! constants.

/// The length of the minute window, which begins with a request and not on the minute.
pub const MINUTE_SECONDS: u32 = 60;

/// The length of the day window, which begins with a request and not at midnight.
pub const DAY_SECONDS: u32 = 86_400;

/// For this time after a key's first 429 in a minute, further 429s are not strikes. Without this
/// time, a burst could lead to a ban before the client reads the first 429.
pub const STRIKES_BEGIN_AFTER_SECONDS: u32 = 2;

/// The length of the first ban. Each further ban is twice as long as the one before, up to
/// [`MAX_BAN_SECONDS`].
pub const FIRST_BAN_SECONDS: u32 = 300;

/// The maximum length of a ban, at which the doubling stops.
pub const MAX_BAN_SECONDS: u32 = 3_600;

/// After this time without a ban, the next ban is as short as a first one.
pub const BAN_FORGIVEN_AFTER_HOURS: u32 = 24;

/// The default limit per minute and client address for requests without a valid key.
pub const UNAUTHENTICATED_PER_MINUTE: u32 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::DOCUMENTS;
    use crate::key_form::{PRODUCTION_PREFIX, STAGING_PREFIX};
    use crate::types::MAX_ID;

    #[test]
    fn the_guide_has_the_constants_of_the_server() {
        assert_eq!((MAX_BAN_SECONDS, UNAUTHENTICATED_PER_MINUTE), (3_600, 1_000));
        let guide = include_str!("../../spec/guide.md");
        let words: Vec<_> = guide.split_whitespace().collect();
        let text = words.join(" ");
        let [v1, v2] = DOCUMENTS.map(|document| document.base_path);
        for statement in [
            format!("within {MINUTE_SECONDS} seconds of its first 429"),
            format!("in the first {STRIKES_BEGIN_AFTER_SECONDS} seconds do not count"),
            format!("banned for {FIRST_BAN_SECONDS} seconds"),
            "up to 3,600 seconds".to_string(),
            format!("after {BAN_FORGIVEN_AFTER_HOURS} hours without a ban"),
            format!("the length starts at {FIRST_BAN_SECONDS} seconds again"),
            "1,000 per minute unless the operator".to_string(),
            format!("begin with `{PRODUCTION_PREFIX}`"),
            format!("for staging with `{STAGING_PREFIX}`"),
            format!("2^53-1 ({MAX_ID})"),
            format!("BASE_URL=https://<host>{v2} "),
            format!("The version is part of the base address: `{v1}` or `{v2}`."),
        ] {
            assert!(text.contains(&statement), "{statement}");
        }
    }
}
