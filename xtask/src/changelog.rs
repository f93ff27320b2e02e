//! Finds the sections of the changelog, and the names that a section contains between backticks.

use semver::Version;

/// Returns the sections under headings of level 2, each as its heading and its text.
pub fn sections(changelog: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut parts = changelog.split("\n## ");
    let first = parts.next().and_then(|text| text.strip_prefix("## "));
    let sections = first.into_iter().chain(parts);
    sections.map(|section| section.split_once('\n').unwrap_or((section, "")))
}

/// Returns the text below the heading `## VERSION`. A planned version is not found, because its
/// heading begins with the word `Planned:`.
pub fn section<'c>(changelog: &'c str, version: &Version) -> Option<&'c str> {
    let version = version.to_string();
    let is_ours = |title: &str| title.split_whitespace().next() == Some(&version);
    sections(changelog).find(|(title, _)| is_ours(title)).map(|(_, text)| text.trim())
}

/// True if a section has this whole name between backticks. Case is ignored, because header names
/// are case-insensitive.
pub fn names(section: &str, thing: &str) -> bool {
    let mut code = section.split('`').skip(1).step_by(2);
    code.any(|code| words(code) == words(thing))
}

/// Returns the words of a name in lower case. Names are compared by words, because a line break may
/// split a name.
fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGELOG: &str = "# Changelog\n\n## Planned: 1.1.0\n\n- `later`\n\n## 1.0.1 (May)\n\n- `listOrders 200 X-Total` tells, \
                             `GET /store/orders` takes `limit`,\n  `Order.id` and `listOrders\n  401`.\n\n### Also\n\n- More.\n## 1.0.0\n";

    #[test]
    fn a_section_is_found_only_by_its_heading() {
        let find = |version| section(CHANGELOG, &Version::parse(version).unwrap());
        assert!(find("1.0.1").unwrap().ends_with("- More."));
        assert_eq!(find("1.0.0"), Some(""));
        assert_eq!(find("1.1.0"), None, "the version is only planned");
        assert_eq!(find("1.0.10"), None);
    }

    #[test]
    fn a_name_is_the_whole_text_between_two_backticks() {
        let section = section(CHANGELOG, &Version::new(1, 0, 1)).unwrap();
        for named in ["listOrders 200 x-total", "limit", "Order.id", "listOrders 401"] {
            assert!(names(section, named), "{named}");
        }
        for not in ["takes", "id", "Order", "x-total", "401", "orders", "listOrders", "More"] {
            assert!(!names(section, not), "{not}");
        }
    }
}
