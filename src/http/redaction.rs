//! What the log may hold of a request: short texts, without what looks like a key.

use std::borrow::Cow;

/// The longest part of a path that is logged, in characters.
const LOGGED_PATH_CHARS: usize = 200;

/// The longest part of a user agent that is logged, in bytes.
const LOGGED_AGENT_BYTES: usize = 120;

/// A text with a longer alphanumeric run than the id of a key has is redacted: it may be
/// part of a key. Order ids, which are digits alone, have up to 19.
const LONGEST_RUN: usize = 12;
const LONGEST_NUMBER: usize = 19;

/// Names of programs, which are letters alone, are as long as this.
const LONGEST_WORD: usize = 19;

const WITHHELD: &str = "[withheld: it may hold a key]";

/// The path as the log may hold it.
pub fn path(path: &str) -> &str {
    let end = path.char_indices().nth(LOGGED_PATH_CHARS).map_or(path.len(), |(end, _)| end);
    let short = path.get(..end).unwrap_or_default();
    if may_hold_a_key(short, LONGEST_RUN) { WITHHELD } else { short }
}

/// The user agent as the log may hold it.
pub fn user_agent(sent: &[u8]) -> Cow<'_, str> {
    let short = sent.get(..LOGGED_AGENT_BYTES).unwrap_or(sent);
    let text = String::from_utf8_lossy(short);
    if may_hold_a_key(&text, LONGEST_WORD) { WITHHELD.into() } else { text }
}

fn may_hold_a_key(text: &str, longest_word: usize) -> bool {
    let mut runs = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    let is_too_long = |run: &str| {
        let longest = match run {
            _ if run.bytes().all(|byte| byte.is_ascii_digit()) => LONGEST_NUMBER,
            _ if run.bytes().all(|byte| byte.is_ascii_alphabetic()) => longest_word,
            _ => LONGEST_RUN,
        };
        run.len() > longest
    };
    let begins_a_key = || text.as_bytes().windows(4).any(|four| four == b"sto_");
    text.contains('%') || runs.any(is_too_long) || begins_a_key()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_may_hold_a_key_is_not_logged() {
        assert_eq!(path("/v1/store/orders"), "/v1/store/orders");
        let order = "/v1/store/orders/-9223372036854775808";
        assert_eq!(path(order), order);
        assert!(!path("/v1/01234567890123456789").contains('9'));
        assert!(!path("/v1/Ab01234567890").contains("Ab"));
        assert!(!path("/v1/Abcdefghijklm").contains("Ab"));
        assert!(!path("/v1/store/sto_live_abc").contains("sto_"));
        assert!(!path("/v1/s%74o_live_abc").contains("_live_"));
        assert_eq!(path(&"/é".repeat(500)).chars().count(), 200);
    }

    #[test]
    fn a_user_agent_is_short_and_holds_no_key() {
        for agent in [
            "curl/8.5.0",
            "PostmanRuntime/7.43.0",
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 HeadlessChrome/142.0.0.0",
            "store-orders-client/1.1.0",
            "",
        ] {
            assert_eq!(user_agent(agent.as_bytes()), agent);
        }
        for agent in ["sto_live_abc", "x/4fQm0ZxW7yTb1", "a%41", &"A".repeat(20)] {
            assert_eq!(user_agent(agent.as_bytes()), WITHHELD);
        }
        assert_eq!(user_agent(&b"a ".repeat(200)).len(), LOGGED_AGENT_BYTES);
        assert_eq!(user_agent(b"a\xff\tb"), "a\u{fffd}\tb");
    }
}
