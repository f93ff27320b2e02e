//! Shortens request paths and user agents for the log, and withholds any that may contain a key.

use std::borrow::Cow;

/// The maximum length of a logged path, in characters.
const LOGGED_PATH_CHARS: usize = 200;

/// The maximum length of a logged user agent, in bytes.
const LOGGED_AGENT_BYTES: usize = 120;

/// The longest run of letters and digits in a logged text. A longer run may be part of a key, so
/// the whole text is withheld. Key ids may be logged and have this length.
const LONGEST_RUN: usize = 12;
/// The longest run of only digits, such as an order id.
const LONGEST_NUMBER: usize = 19;

/// The longest run of only letters in a user agent, such as the name of a program.
const LONGEST_WORD: usize = 19;

const WITHHELD: &str = "[withheld: it may hold a key]";

/// Shortens a path, or withholds it if it may contain a key.
pub fn redact_path(path: &str) -> &str {
    // A path never has more characters than bytes, so the characters of a short path are not
    // counted.
    let short = match path.len() <= LOGGED_PATH_CHARS {
        true => path,
        false => {
            let end = path.char_indices().nth(LOGGED_PATH_CHARS).map(|(end, _)| end);
            path.get(..end.unwrap_or(path.len())).unwrap_or_default()
        }
    };
    if may_contain_key(short, LONGEST_RUN) { WITHHELD } else { short }
}

/// Shortens a user agent, or withholds it if it may contain a key.
pub fn redact_user_agent(sent: &[u8]) -> Cow<'_, str> {
    let short = sent.get(..LOGGED_AGENT_BYTES).unwrap_or(sent);
    let text = String::from_utf8_lossy(short);
    if may_contain_key(&text, LONGEST_WORD) { WITHHELD.into() } else { text }
}

fn may_contain_key(text: &str, longest_word: usize) -> bool {
    let bytes = text.as_bytes();
    let is_too_long = |run: &[u8]| {
        // `LONGEST_RUN` is the lowest of the limits, so a run of this length or less is never too
        // long.
        run.len() > LONGEST_RUN && {
            let longest = match run {
                _ if run.iter().all(u8::is_ascii_digit) => LONGEST_NUMBER,
                _ if run.iter().all(u8::is_ascii_alphabetic) => longest_word,
                _ => LONGEST_RUN,
            };
            run.len() > longest
        }
    };
    bytes.contains(&b'%')
        || bytes.split(|byte| !byte.is_ascii_alphanumeric()).any(is_too_long)
        || bytes.windows(4).any(|four| four == b"sto_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_may_contain_a_key_is_withheld() {
        assert_eq!(redact_path("/v1/store/orders"), "/v1/store/orders");
        let order = "/v1/store/orders/-9223372036854775808";
        assert_eq!(redact_path(order), order);
        assert!(!redact_path("/v1/01234567890123456789").contains('9'));
        assert!(!redact_path("/v1/Ab01234567890").contains("Ab"));
        assert!(!redact_path("/v1/Abcdefghijklm").contains("Ab"));
        assert!(!redact_path("/v1/store/sto_live_abc").contains("sto_"));
        assert!(!redact_path("/v1/s%74o_live_abc").contains("_live_"));
        assert_eq!(redact_path(&"/é".repeat(500)).chars().count(), 200);
        let long_in_bytes = "/é".repeat(90);
        assert_eq!(redact_path(&long_in_bytes), long_in_bytes);
    }

    #[test]
    fn a_long_user_agent_is_cut_and_a_possible_key_is_withheld() {
        for agent in [
            "curl/8.5.0",
            "PostmanRuntime/7.43.0",
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 HeadlessChrome/142.0.0.0",
            "store-orders-client/1.1.0",
            "",
        ] {
            assert_eq!(redact_user_agent(agent.as_bytes()), agent);
        }
        for agent in ["sto_live_abc", "x/4fQm0ZxW7yTb1", "a%41", &"A".repeat(20)] {
            assert_eq!(redact_user_agent(agent.as_bytes()), WITHHELD);
        }
        assert_eq!(redact_user_agent(&b"a ".repeat(200)).len(), LOGGED_AGENT_BYTES);
        assert_eq!(redact_user_agent(b"a\xff\tb"), "a\u{fffd}\tb");
    }
}
