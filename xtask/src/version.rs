//! Versions of the documents: three numbers, and `-beta.N` after them while no operation
//! promises anything, without the other pre-release and build parts of semantic versioning.

use crate::compatibility::is_beta;
use semver::Version;
use serde_json::Value;

/// Reads three plain numbers with dots between them, and the number of the beta.
pub fn parse(text: &str) -> Option<Version> {
    let is_beta_number =
        |pre: &str| pre.strip_prefix("beta.").is_some_and(|number| number.parse::<u64>().is_ok());
    Version::parse(text).ok().filter(|version| {
        (version.pre.is_empty() || is_beta_number(&version.pre)) && version.build.is_empty()
    })
}

/// The version that a document has in `info.version`. A beta's promises nothing.
pub fn of_document(document: &Value) -> Option<Version> {
    let version = parse(document.pointer("/info/version")?.as_str()?)?;
    (version.pre.is_empty() || is_beta(document)).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_plain_numbers_or_those_of_a_beta() {
        for text in ["1.20.3", "2.0.0-beta.1"] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        for text in [
            "",
            "1",
            "1.2",
            "1.2.3.4",
            "1.02.3",
            "1.2.x",
            "+1.2.3",
            "1.2.3-rc.1",
            "1.2.3-beta",
            "1.2.3-beta.x",
            "1.2.3-beta.1.2",
            "1.2.3+b",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert!(parse("1.10.0") > parse("1.9.9"));
    }
}
