//! Renders Markdown as HTML. Shows raw HTML in the Markdown as text, so that a text cannot add
//! elements such as `<script>` to the page.

use pulldown_cmark::{Event, Options, Parser, html};

pub fn markup(text: &str) -> String {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).map(|event| match event {
        Event::Html(raw) | Event::InlineHtml(raw) => Event::Text(raw),
        other => other,
    });
    let mut markup = String::new();
    html::push_html(&mut markup, events);
    markup
}

pub fn with_headings(text: &str, heading: impl Fn(usize, &str) -> String) -> String {
    let (mut page, mut section, mut in_code) = (String::new(), String::new(), false);
    for line in text.lines() {
        let title = line.trim_start_matches('#');
        let level = line.len() - title.len();
        in_code ^= line.starts_with("```");
        if !in_code && (1..=6).contains(&level) && title.starts_with(' ') {
            page += &markup(&std::mem::take(&mut section));
            page += &heading(level, title.trim());
        } else {
            section += line;
            section.push('\n');
        }
    }
    page + &markup(&section)
}

pub fn heading(level: usize, id: &str, title: &str, suffix: &str) -> String {
    let title = markup(title);
    let title = title.trim().trim_start_matches("<p>").trim_end_matches("</p>");
    format!("<h{level} id=\"{id}\"><a href=\"#{id}\">{title}</a>{suffix}</h{level}>\n")
}

/// Converts text to an id that is safe in attributes and URLs: `2.0.0, under /v2` becomes
/// `2.0.0-under-v2`.
pub fn slug(text: &str) -> String {
    let keep = |letter: char| if letter.is_alphanumeric() || letter == '.' { letter } else { ' ' };
    let spaced: String = text.to_lowercase().chars().map(keep).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(text: &str) -> String {
        with_headings(text, |level, title| heading(level, &slug(title), title, ""))
    }

    #[test]
    fn every_section_has_an_anchor() {
        assert_eq!(
            render("## Planned: 2.0.0, under `/v2`\n\n### 1.0.0\n"),
            "<h2 id=\"planned-2.0.0-under-v2\"><a href=\"#planned-2.0.0-under-v2\">\
             Planned: 2.0.0, under <code>/v2</code></a></h2>\n\
             <h3 id=\"1.0.0\"><a href=\"#1.0.0\">1.0.0</a></h3>\n"
        );
    }

    #[test]
    fn a_comment_in_code_is_not_a_heading() {
        let page = render("```sh\n# later\n```\n\n## Now\n");
        assert!(
            page.contains("# later\n</code></pre>") && page.contains("<h2 id=\"now\">"),
            "{page}"
        );
    }

    #[test]
    fn html_in_the_text_is_escaped() {
        let page = render("<script>alert(1)</script>\n\nso <b onclick=x>bold</b>\n\n# <i>\"&");
        assert!(
            !page.contains("<script") && !page.contains("<b ") && !page.contains("<i>"),
            "{page}"
        );
        assert!(!markup("<script>").contains("<script"));
        assert!(page.contains("&lt;script&gt;") && page.contains("&lt;b onclick=x&gt;"), "{page}");
    }
}
