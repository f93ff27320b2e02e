//! Parses versions of documents, such as `1.2.3`. `1.2.3-beta.4` is valid only while all operations
//! are beta or experimental. Other suffixes of semantic versioning are invalid.

use crate::compatibility::is_beta;
use semver::Version;
use serde_json::Value;

pub fn parse(text: &str) -> Option<Version> {
    let is_beta_number =
        |pre: &str| pre.strip_prefix("beta.").is_some_and(|number| number.parse::<u64>().is_ok());
    Version::parse(text).ok().filter(|version| {
        (version.pre.is_empty() || is_beta_number(&version.pre)) && version.build.is_empty()
    })
}

/// Returns the version in `info.version`. A beta version is valid only if all operations of the
/// document are beta or experimental.
pub fn from_document(document: &Value) -> Option<Version> {
    let version = parse(document.pointer("/info/version")?.as_str()?)?;
    (version.pre.is_empty() || is_beta(document)).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_three_numbers_with_an_optional_beta() {
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
