//! Versions of the document: three numbers, and which step a change asks for.

use crate::compatibility::Verdict;
use std::fmt;

/// A version such as `1.2.0`. Ordered as versions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Goes up with a change that can break callers.
    pub major: u32,
    /// Goes up with an addition.
    pub minor: u32,
    /// Goes up with any other change.
    pub patch: u32,
}

impl Version {
    /// Reads three plain numbers with points between them, and nothing else.
    pub fn read(text: &str) -> Option<Version> {
        let mut numbers = text.split('.').map(plain_number);
        let version =
            Version { major: numbers.next()??, minor: numbers.next()??, patch: numbers.next()?? };
        numbers.next().is_none().then_some(version)
    }

    /// The least version after this one that may carry such a change.
    pub fn after(self, verdict: Verdict) -> Version {
        let Version { major, minor, patch } = self;
        match verdict {
            Verdict::Breaking => Version { major: major + 1, minor: 0, patch: 0 },
            Verdict::Addition => Version { major, minor: minor + 1, patch: 0 },
            Verdict::Neutral => Version { major, minor, patch: patch + 1 },
        }
    }
}

/// `01` and `+1` are no numbers of a version.
fn plain_number(text: &str) -> Option<u32> {
    let plain =
        text.bytes().all(|digit| digit.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_plain_numbers() {
        assert_eq!(Version::read("1.20.3").unwrap().to_string(), "1.20.3");
        for text in ["", "1", "1.2", "1.2.3.4", "1.02.3", "1.2.x", "+1.2.3", "1.2.3-rc.1", "1..3"] {
            assert_eq!(Version::read(text), None, "{text}");
        }
        assert!(Version::read("1.10.0") > Version::read("1.9.9"));
    }

    #[test]
    fn each_verdict_asks_for_its_step() {
        let version = Version::read("1.2.3").unwrap();
        let after = |verdict| version.after(verdict).to_string();
        assert_eq!(after(Verdict::Neutral), "1.2.4");
        assert_eq!(after(Verdict::Addition), "1.3.0");
        assert_eq!(after(Verdict::Breaking), "2.0.0");
    }
}
