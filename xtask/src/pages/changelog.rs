//! `CHANGELOG.md` as a page, and its versions for the feed.

use crate::changelog::sections;
use chrono::NaiveDate;
use pulldown_cmark::{Event, Parser, html};
use semver::Version;

const HEAD: &str = include_str!("changelog.html");
const FOOT: &str = "</main>\n</body>\n</html>\n";

/// A version, from its heading `## 1.1.0 (2026-11-22)` to the next heading of that level.
pub struct Release<'a> {
    /// Its number.
    pub version: Version,
    date: NaiveDate,
    /// What changed, as Markdown.
    pub text: &'a str,
}

impl Release<'_> {
    /// The beginning of its day in UTC (RFC 3339).
    pub fn timestamp(&self) -> String {
        format!("{}T00:00:00Z", self.date)
    }
}

/// The versions, newest first, as in the file.
pub fn releases(changelog: &str) -> Vec<Release<'_>> {
    let release = |(title, text)| {
        let (version, date) = version_and_date(title)?;
        Some(Release { version, date, text })
    };
    sections(changelog).filter_map(release).collect()
}

/// The whole page, with an anchor for each heading.
pub fn page(changelog: &str) -> String {
    let (mut page, mut text) = (HEAD.to_string(), String::new());
    for line in changelog.lines() {
        let title = line.trim_start_matches('#');
        let level = line.len() - title.len();
        if (1..=6).contains(&level) && title.starts_with(' ') {
            page += &markup(&std::mem::take(&mut text));
            page += &heading(level, title.trim());
        } else {
            text += line;
            text.push('\n');
        }
    }
    page + &markup(&text) + FOOT
}

/// Markdown as HTML. HTML in it is escaped, so every element of the page is made here.
pub fn markup(text: &str) -> String {
    let events = Parser::new(text).map(|event| match event {
        Event::Html(raw) | Event::InlineHtml(raw) => Event::Text(raw),
        other => other,
    });
    let mut markup = String::new();
    html::push_html(&mut markup, events);
    markup
}

/// A heading that links to itself. The date of a version is behind the link.
fn heading(level: usize, title: &str) -> String {
    let (id, title, date) = match version_and_date(title).filter(|_| level == 2) {
        Some((version, date)) => (version.to_string(), version.to_string(), time(date)),
        None => (slug(title), markup(title), String::new()),
    };
    let title = title.trim().trim_start_matches("<p>").trim_end_matches("</p>");
    format!("<h{level} id=\"{id}\"><a href=\"#{id}\">{title}</a>{date}</h{level}>\n")
}

/// The parts of `1.1.0 (2026-11-22)`.
fn version_and_date(title: &str) -> Option<(Version, NaiveDate)> {
    let (version, date) = title.strip_suffix(')')?.split_once(" (")?;
    Some((version.parse().ok()?, date.parse().ok()?))
}

/// A day for people, and for programs as in the file.
fn time(date: NaiveDate) -> String {
    format!(" <time datetime=\"{date}\">{}</time>", date.format("%-d %B %Y"))
}

/// `2.0.0, under /v2` becomes `2.0.0-under-v2`: safe in an attribute and a URL.
fn slug(text: &str) -> String {
    let keep = |letter: char| if letter.is_alphanumeric() || letter == '.' { letter } else { ' ' };
    let spaced: String = text.to_lowercase().chars().map(keep).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::{CHANGELOG, Repository};

    fn rendered(text: &str) -> String {
        page(text).strip_prefix(HEAD).unwrap().strip_suffix(FOOT).unwrap().to_string()
    }

    #[test]
    fn every_section_has_an_anchor() {
        assert_eq!(
            rendered("## Planned: 2.0.0, under `/v2`\n\n### 1.0.0\n"),
            "<h2 id=\"planned-2.0.0-under-v2\"><a href=\"#planned-2.0.0-under-v2\">\
             Planned: 2.0.0, under <code>/v2</code></a></h2>\n\
             <h3 id=\"1.0.0\"><a href=\"#1.0.0\">1.0.0</a></h3>\n"
        );
    }

    #[test]
    fn the_date_of_a_version_is_behind_its_link() {
        assert_eq!(
            rendered("## 1.1.0 (2026-11-02)\n\n## Plans (2026-11-02)\n"),
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
            // A stable version may follow a beta of the next one.
            let own = releases.iter().map(|release| &release.version);
            let own = own.filter(|version| version.pre.is_empty() != of.is_beta);
            assert!(own.clone().is_sorted_by(|newer, older| newer > older));
            assert_eq!(own.clone().next().unwrap().to_string(), document["info"]["version"]);
        }
        assert!(
            releases.iter().all(|release| release.text.trim_start().starts_with("- ")
                || release.text.contains("\n- "))
        );
    }

    #[test]
    fn markup_in_the_text_is_escaped() {
        let page = rendered("<script>alert(1)</script>\n\nso <b onclick=x>bold</b>\n\n# <i>\"&");
        assert!(
            !page.contains("<script") && !page.contains("<b ") && !page.contains("<i>"),
            "{page}"
        );
        assert!(!markup("<script>").contains("<script"));
        assert!(page.contains("&lt;script&gt;") && page.contains("&lt;b onclick=x&gt;"), "{page}");
    }
}
