//! `CHANGELOG.md` as a page.

use pulldown_cmark::{CowStr, Event, Parser, Tag, TagEnd, html};

const HEAD: &str = include_str!("assets/changelog.html");
const TEXT: &str = include_str!("../../../CHANGELOG.md");
const FOOT: &str = "</main>\n</body>\n</html>\n";

/// The whole page.
pub fn page() -> String {
    let mut page = HEAD.to_string();
    html::push_html(&mut page, with_anchors(TEXT).into_iter());
    page.push_str(FOOT);
    page
}

/// The text with an anchor for each section. HTML in it is escaped, so every element
/// of the page is made here.
fn with_anchors(text: &str) -> Vec<Event<'_>> {
    let input: Vec<Event> = Parser::new(text).collect();
    let mut output = Vec::with_capacity(input.len());
    for (index, event) in input.iter().enumerate() {
        match event.clone() {
            Event::Start(Tag::Heading { level, classes, attrs, .. }) => {
                let id = slug(&heading_text(input.get(index..).unwrap_or_default()));
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
                output.extend([Event::InlineHtml(CowStr::from("</a>")), end]);
            }
            Event::Html(raw) | Event::InlineHtml(raw) => output.push(Event::Text(raw)),
            other => output.push(other),
        }
    }
    output
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
    fn markup_in_the_text_is_escaped() {
        let page = rendered("<script>alert(1)</script>\n\nso <b onclick=x>bold</b>\n\n# <i>\"&");
        assert!(!page.contains("<script") && !page.contains("<b "), "{page}");
        assert!(page.contains("&lt;script&gt;") && page.contains("&lt;b onclick=x&gt;"), "{page}");
    }
}
