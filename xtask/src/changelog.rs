//! Sections of the changelog, and what they name.

use semver::Version;

/// The text between the heading `## VERSION` and the next heading of that level.
/// Planned versions have another heading.
pub fn section(changelog: &str, version: &Version) -> Option<String> {
    let version = version.to_string();
    let is_heading = |line: &str| line.starts_with("## ");
    let is_ours = |line: &str| {
        line.strip_prefix("## ").and_then(|title| title.split_whitespace().next()) == Some(&version)
    };
    let mut lines = changelog.lines().skip_while(|line| !is_ours(line));
    lines.next()?;
    let lines: Vec<_> = lines.take_while(|line| !is_heading(line)).collect();
    Some(lines.join("\n").trim().to_string())
}

/// Whether a section names a thing: as a whole word between backticks, in any
/// letter case, because header names are case-insensitive.
pub fn names(section: &str, thing: &str) -> bool {
    let thing = thing.to_lowercase();
    let code = section.split('`').skip(1).step_by(2).map(str::to_lowercase);
    code.into_iter().any(|code| has_word(&code, &thing))
}

fn has_word(text: &str, word: &str) -> bool {
    let continues =
        |letter: Option<char>| letter.is_some_and(|l| l.is_alphanumeric() || l == '_' || l == '-');
    text.match_indices(word).any(|(start, found)| {
        let before = text.get(..start).and_then(|text| text.chars().next_back());
        let after = text.get(start + found.len()..).and_then(|text| text.chars().next());
        !continues(before) && !continues(after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGELOG: &str = "# Changelog\n\n## Planned: 1.1.0\n\n- `later`\n\n## 1.0.1 (May)\n\n- `X-Total` tells, \
                             `GET /store/orders` takes `limit`.\n\n### Also\n\n- More.\n## 1.0.0\n";

    #[test]
    fn a_section_is_found_by_its_heading_alone() {
        let of = |text| section(CHANGELOG, &Version::parse(text).unwrap());
        assert!(of("1.0.1").unwrap().ends_with("- More."));
        assert_eq!(of("1.0.0").as_deref(), Some(""));
        assert_eq!(of("1.1.0"), None, "it is only planned");
        assert_eq!(of("1.0.10"), None);
    }

    #[test]
    fn a_name_is_a_whole_word_between_backticks() {
        let section = section(CHANGELOG, &Version::new(1, 0, 1)).unwrap();
        for named in ["x-total", "limit", "GET /store/orders", "orders"] {
            assert!(names(&section, named), "{named}");
        }
        for not in ["takes", "order", "total", "More", "store/order"] {
            assert!(!names(&section, not), "{not}");
        }
    }
}
