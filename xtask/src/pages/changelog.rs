//! `CHANGELOG.md` as a page, and its versions for the feed.

use crate::changelog::sections;
use chrono::NaiveDate;
use pulldown_cmark::{CowStr, Event, HeadingLevel, Parser, Tag, TagEnd, html};
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

/// The whole page.
pub fn page(changelog: &str) -> String {
    let mut page = HEAD.to_string();
    html::push_html(&mut page, with_anchors(changelog).into_iter());
    page.push_str(FOOT);
    page
}

/// Markdown as HTML. HTML in it is escaped.
pub fn markup(text: &str) -> String {
    let mut markup = String::new();
    html::push_html(&mut markup, Parser::new(text).map(without_markup));
    markup
}

/// The text with an anchor for each section. HTML in it is escaped, so every element
/// of the page is made here.
fn with_anchors(text: &str) -> Vec<Event<'_>> {
    let input: Vec<Event> = Parser::new(text).collect();
    let mut output = Vec::with_capacity(input.len());
    // Behind the link of a heading.
    let mut suffix = String::new();
    for (index, event) in input.iter().enumerate() {
        match event.clone() {
            Event::Start(Tag::Heading { level, classes, attrs, .. }) => {
                let title = heading_text(input.get(index..).unwrap_or_default());
                let release = version_and_date(&title).filter(|_| level == HeadingLevel::H2);
                let id = match &release {
                    Some((version, _)) => version.to_string(),
                    None => slug(&title),
                };
                suffix = release.map(|(_, date)| time(date)).unwrap_or_default();
                let link = format!("<a href=\"#{id}\">");
                output.push(Event::Start(Tag::Heading {
                    level,
                    id: Some(CowStr::from(id)),
                    classes,
                    attrs,
                }));
                output.push(Event::InlineHtml(CowStr::from(link)));
            }
            end @ Event::End(TagEnd::Heading(_)) => {
                let suffix = format!("</a>{}", std::mem::take(&mut suffix));
                output.extend([Event::InlineHtml(CowStr::from(suffix)), end]);
            }
            // The title of a version: the date is behind the link.
            Event::Text(text) if !suffix.is_empty() => {
                let version = text.split(" (").next().unwrap_or_default().to_string();
                output.push(Event::Text(CowStr::from(version)));
            }
            other => output.push(without_markup(other)),
        }
    }
    output
}

fn without_markup(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Html(raw) | Event::InlineHtml(raw) => Event::Text(raw),
        other => other,
    }
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

/// The text of the heading that begins here.
fn heading_text(events: &[Event<'_>]) -> String {
    let inside = events.iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
    inside
        .filter_map(|event| match event {
            Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
            _ => None,
        })
        .collect()
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
        let mut page = String::new();
        html::push_html(&mut page, with_anchors(text).into_iter());
        page
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
        assert!(releases.is_sorted_by(|newer, older| {
            newer.version > older.version && newer.date >= older.date
        }));
        for document in store_orders_api::documents::DOCUMENTS {
            let mut own =
                releases.iter().filter(|one| one.version.pre.is_empty() != document.is_beta());
            assert_eq!(own.next().unwrap().version.to_string(), document.version);
        }
        assert!(
            releases.iter().all(|release| release.text.trim_start().starts_with("- ")
                || release.text.contains("\n- "))
        );
    }

    #[test]
    fn markup_in_the_text_is_escaped() {
        let page = rendered("<script>alert(1)</script>\n\nso <b onclick=x>bold</b>\n\n# <i>\"&");
        assert!(!page.contains("<script") && !page.contains("<b "), "{page}");
        assert!(!markup("<script>").contains("<script"));
        assert!(page.contains("&lt;script&gt;") && page.contains("&lt;b onclick=x&gt;"), "{page}");
    }
}
