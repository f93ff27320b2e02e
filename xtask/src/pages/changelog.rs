//! Renders `CHANGELOG.md` as a page, and parses its releases for the feed.

use super::markdown::{heading, slug, with_headings};
use super::{SITE_BAR, site_bar};
use crate::changelog::sections;
use crate::documents::Document;
use chrono::NaiveDate;
use semver::Version;

const HEAD: &str = include_str!("changelog.html");
const FOOT: &str = "</main>\n</body>\n</html>\n";

/// A section of the changelog with a heading such as `## 1.1.0 (2026-11-22)`.
pub struct Release<'a> {
    pub version: Version,
    date: NaiveDate,
    pub text: &'a str,
}

impl Release<'_> {
    /// Returns the start of the release's day in UTC (RFC 3339).
    pub fn timestamp(&self) -> String {
        format!("{}T00:00:00Z", self.date)
    }
}

/// Returns the releases in the order of the file, newest first.
pub fn releases(changelog: &str) -> Vec<Release<'_>> {
    let release = |(title, text)| {
        let (version, date) = version_and_date(title)?;
        Some(Release { version, date, text })
    };
    sections(changelog).filter_map(release).collect()
}

/// Turns each code span that begins with a page's path, such as `/guide`, into a link to the page.
pub fn with_links(changelog: &str) -> String {
    let is_page =
        |code: &str| ["/docs", "/guide", "/openapi"].iter().any(|page| code.starts_with(page));
    let parts = changelog.split('`').enumerate().map(|(number, part)| match number % 2 {
        0 => part.to_string(),
        _ if is_page(part) => format!("[`{part}`]({part})"),
        _ => format!("`{part}`"),
    });
    parts.collect()
}

pub fn page(changelog: &str, newest: &Document) -> String {
    let text = with_headings(changelog, |level, title| {
        // `heading` makes the title a link to the heading itself. Pass the date of a version as the
        // suffix, so that neither the link nor the anchor contains the date.
        match version_and_date(title).filter(|_| level == 2) {
            Some((version, date)) => {
                let version = version.to_string();
                heading(level, &version, &version, &time(date))
            }
            None => heading(level, &slug(title), title, ""),
        }
    });
    format!("{}{text}{FOOT}", head(newest))
}

fn head(newest: &Document) -> String {
    HEAD.replace(SITE_BAR, &site_bar(newest, "/changelog", newest))
}

/// Parses a title such as `1.1.0 (2026-11-22)`.
fn version_and_date(title: &str) -> Option<(Version, NaiveDate)> {
    let (version, date) = title.strip_suffix(')')?.split_once(" (")?;
    Some((version.parse().ok()?, date.parse().ok()?))
}

fn time(date: NaiveDate) -> String {
    format!(" <time datetime=\"{date}\">{}</time>", date.format("%-d %B %Y"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::V1;
    use crate::repository::{CHANGELOG, Repository};

    fn render(text: &str) -> String {
        page(text, &V1).strip_prefix(&head(&V1)).unwrap().strip_suffix(FOOT).unwrap().to_string()
    }

    #[test]
    fn the_path_of_a_page_is_a_link_and_other_code_is_not() {
        assert_eq!(
            with_links("at `/docs/v2#a` or `/openapi-v2.json`, below `/v2`: `GET /docs`"),
            "at [`/docs/v2#a`](/docs/v2#a) or [`/openapi-v2.json`](/openapi-v2.json), below `/v2`: \
             `GET /docs`"
        );
    }

    #[test]
    fn the_date_of_a_version_follows_its_link() {
        assert_eq!(
            render("## 1.1.0 (2026-11-02)\n\n## Plans (2026-11-02)\n"),
            "<h2 id=\"1.1.0\"><a href=\"#1.1.0\">1.1.0</a> \
             <time datetime=\"2026-11-02\">2 November 2026</time></h2>\n\
             <h2 id=\"plans-2026-11-02\"><a href=\"#plans-2026-11-02\">\
             Plans (2026-11-02)</a></h2>\n"
        );
    }

    #[test]
    fn every_version_has_a_date_and_newer_ones_come_first() {
        let text = Repository::here().read(CHANGELOG).unwrap();
        let is_version =
            |line: &&str| line.starts_with("## ") && line.as_bytes()[3].is_ascii_digit();
        let releases = releases(&text);
        assert_eq!(releases.len(), text.lines().filter(is_version).count());
        assert!(releases.is_sorted_by(|newer, older| newer.date >= older.date));
        for of in crate::documents::DOCUMENTS {
            let document = Repository::here().read(of.file).unwrap();
            let document: serde_json::Value = serde_json::from_str(&document).unwrap();
            let current = document["info"]["version"].as_str().unwrap();
            let current: Version = current.parse().unwrap();
            // Compares only versions of the same major version, because releases of two major
            // versions may alternate.
            let versions = releases.iter().map(|release| &release.version);
            let versions = versions.filter(|version| version.major == current.major);
            assert!(versions.clone().is_sorted_by(|newer, older| newer > older));
            assert_eq!(versions.clone().next(), Some(&current));
        }
        assert!(
            releases.iter().all(|release| release.text.trim_start().starts_with("- ")
                || release.text.contains("\n- "))
        );
    }
}
