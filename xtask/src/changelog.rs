//! Sections of the changelog, and what they name.

use semver::Version;

/// Each section from a heading of level 2 to the next one: the heading, and the text below it.
pub fn sections(changelog: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut parts = changelog.split("\n## ");
    let first = parts.next().and_then(|text| text.strip_prefix("## "));
    let sections = first.into_iter().chain(parts);
    sections.map(|section| section.split_once('\n').unwrap_or((section, "")))
}

/// The text below the heading `## VERSION`. Planned versions have another heading.
pub fn section<'c>(changelog: &'c str, version: &Version) -> Option<&'c str> {
    let version = version.to_string();
    let is_ours = |title: &str| title.split_whitespace().next() == Some(&version);
    sections(changelog).find(|(title, _)| is_ours(title)).map(|(_, text)| text.trim())
}

/// Whether a section names a thing: all that stands between two backticks is its
/// name, in any letter case, because header names are case-insensitive. A word
/// that occurs there is not enough: `id` could be that of an order or of a pet.
pub fn names(section: &str, thing: &str) -> bool {
    let mut code = section.split('`').skip(1).step_by(2);
    code.any(|code| words(code) == words(thing))
}

/// The words of a name, which may be split over two lines.
fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGELOG: &str = "# Changelog\n\n## Planned: 1.1.0\n\n- `later`\n\n## 1.0.1 (May)\n\n- `listOrders 200 X-Total` tells, \
                             `GET /store/orders` takes `limit`,\n  `Order.id` and `listOrders\n  401`.\n\n### Also\n\n- More.\n## 1.0.0\n";

    #[test]
    fn a_section_is_found_by_its_heading_alone() {
        let of = |text| section(CHANGELOG, &Version::parse(text).unwrap());
        assert!(of("1.0.1").unwrap().ends_with("- More."));
        assert_eq!(of("1.0.0"), Some(""));
        assert_eq!(of("1.1.0"), None, "it is only planned");
        assert_eq!(of("1.0.10"), None);
    }

    #[test]
    fn a_name_is_all_that_stands_between_two_backticks() {
        let section = section(CHANGELOG, &Version::new(1, 0, 1)).unwrap();
        for named in ["listOrders 200 x-total", "limit", "Order.id", "listOrders 401"] {
            assert!(names(section, named), "{named}");
        }
        for not in ["takes", "id", "Order", "x-total", "401", "orders", "listOrders", "More"] {
            assert!(!names(section, not), "{not}");
        }
    }
}
