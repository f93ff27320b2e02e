//! Versions of the document: three numbers, without the pre-release and build
//! parts of semantic versioning.

use semver::Version;
use serde_json::Value;

/// Reads three plain numbers with dots between them.
pub fn parse(text: &str) -> Option<Version> {
    Version::parse(text).ok().filter(|version| version.pre.is_empty() && version.build.is_empty())
}

/// The version that a document has in `info.version`.
pub fn of_document(document: &Value) -> Option<Version> {
    parse(document.pointer("/info/version")?.as_str()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_plain_numbers() {
        assert_eq!(parse("1.20.3").unwrap().to_string(), "1.20.3");
        for text in
            ["", "1", "1.2", "1.2.3.4", "1.02.3", "1.2.x", "+1.2.3", "1.2.3-rc.1", "1.2.3+b"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
        assert!(parse("1.10.0") > parse("1.9.9"));
    }
}
