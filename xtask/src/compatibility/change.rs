//! Defines a change of an API document, and the verdict: how the change affects callers.

use semver::{Prerelease, Version};

/// The effect of a change on callers. Ordered from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// A change that does not affect programs. Requires a patch version.
    Neutral,
    /// A change such as a new field or a deprecation, which breaks no promise. Requires a minor
    /// version and a changelog entry, because callers should know of the change.
    Addition,
    /// A change after which a caller could fail. Requires a major version and a changelog entry.
    Breaking,
}

impl Verdict {
    pub const fn as_str(self) -> &'static str {
        match self {
            Verdict::Neutral => "neutral",
            Verdict::Addition => "addition",
            Verdict::Breaking => "breaking",
        }
    }

    /// Returns the lowest version after `published` that may contain a change with this verdict.
    /// After a beta, the next version is the next beta, unless the change is breaking.
    pub fn next_version(self, published: &Version) -> Version {
        let Version { major, minor, patch, .. } = *published;
        let beta =
            published.pre.strip_prefix("beta.").and_then(|number| number.parse::<u64>().ok());
        if let (Some(beta), Verdict::Neutral | Verdict::Addition) = (beta, self)
            && let Ok(pre) = Prerelease::new(&format!("beta.{}", beta.saturating_add(1)))
        {
            return Version { pre, ..published.clone() };
        }
        match self {
            Verdict::Breaking => Version::new(major + 1, 0, 0),
            Verdict::Addition => Version::new(major, minor + 1, 0),
            Verdict::Neutral => Version::new(major, minor, patch + 1),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// A JSON pointer into the document after all references are resolved. In the file, the changed
    /// part may be in a shared component.
    pub pointer: String,
    /// The name of what has changed, such as `Order.id` or `listOrders 401`. Unless the change is
    /// neutral, the changelog must contain this name.
    pub name: String,
    pub verdict: Verdict,
    /// The change as the predicate of a sentence: "is no longer sent".
    pub description: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verdict_requires_its_step() {
        let next = |verdict: Verdict| verdict.next_version(&Version::new(1, 2, 3)).to_string();
        let after_beta = |verdict: Verdict| {
            verdict.next_version(&Version::parse("2.0.0-beta.9").unwrap()).to_string()
        };
        assert_eq!(after_beta(Verdict::Neutral), "2.0.0-beta.10");
        assert_eq!(after_beta(Verdict::Addition), "2.0.0-beta.10");
        assert_eq!(after_beta(Verdict::Breaking), "3.0.0");
        assert_eq!(next(Verdict::Neutral), "1.2.4");
        assert_eq!(next(Verdict::Addition), "1.3.0");
        assert_eq!(next(Verdict::Breaking), "2.0.0");
    }
}
