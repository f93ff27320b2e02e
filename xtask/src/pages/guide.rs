//! Renders the guide as a page with a table of contents.

use super::markdown::{heading, markup, slug, with_headings};
use super::{SITE_BAR, site_bar};
use crate::documents::Document;
use crate::guide::code_title;
use std::cell::RefCell;

const TEMPLATE: &str = include_str!("guide.html");

pub fn page(guide: &str, newest: &Document) -> String {
    let contents = RefCell::new(String::new());
    let text = with_headings(&split_sessions(guide), |level, title| {
        let anchor = anchor(title);
        if level > 1 {
            let indent = "    ".repeat(level - 2);
            *contents.borrow_mut() += &format!("{indent}- [{title}](#{anchor})\n");
        }
        heading(level, &anchor, title, "")
    });
    // A code block scrolls, so it must be reachable with the keyboard.
    let text = text.replace("<pre>", "<pre tabindex=\"0\">");
    TEMPLATE
        .replace(SITE_BAR, &site_bar(newest, "/guide", newest))
        .replace("{contents}", &markup(&contents.into_inner()))
        .replace("{guide}", &text)
}

pub fn anchor(title: &str) -> String {
    code_title(title).map_or_else(|| slug(title), |(_, code)| code.to_string())
}

/// Splits each `console` block into a block for the command and a block for its output. So readers
/// can copy the command without the prompt.
fn split_sessions(guide: &str) -> String {
    let (mut page, mut open) = (String::new(), None);
    for line in guide.lines() {
        let (language, shown) = match (open, line) {
            (None, "```console") => {
                open = Some("");
                continue;
            }
            (None, _) => (None, line),
            (Some(""), "```") => {
                open = None;
                continue;
            }
            (Some(_), "```") => (None, line),
            (Some(_), _) => match line.strip_prefix("$ ").or_else(|| line.strip_prefix("> ")) {
                Some(command) => (Some("shell"), command),
                None if line.starts_with("HTTP/") => (Some("http"), line),
                None if open == Some("shell") => (Some("json"), line),
                None => (open, line),
            },
        };
        if let (Some(language), Some(before)) = (language, open) {
            if language != before {
                page += if before.is_empty() { "" } else { "```\n\n" };
                page += &format!("```{language}\n");
            }
            open = Some(language);
        } else {
            open = None;
        }
        page += shown;
        page.push('\n');
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::V1;

    #[test]
    fn a_command_is_a_block_without_its_prompt_and_its_output() {
        let session = "Text\n\n```console\n$ one \\\n>   two\n{\n}\n$ three\nHTTP/1.1 200 OK\n```\n\n```text\n$ x\n```\n";
        assert_eq!(
            split_sessions(session),
            "Text\n\n```shell\none \\\n  two\n```\n\n```json\n{\n}\n```\n\n\
             ```shell\nthree\n```\n\n```http\nHTTP/1.1 200 OK\n```\n\n```text\n$ x\n```\n"
        );
    }

    #[test]
    fn headings_are_in_the_contents_and_a_code_is_its_own_anchor() {
        let page = page("# Guide\n\n## Rate limits and bans\n\n### 404 `order_not_found`\n", &V1);
        assert!(page.contains("<a href=\"#rate-limits-and-bans\">Rate limits and bans</a>"));
        assert!(
            page.contains("<li><a href=\"#order_not_found\">404 <code>order_not_found</code></a>")
        );
        assert!(page.contains("<h2 id=\"rate-limits-and-bans\">"), "{page}");
        assert!(page.contains("<h3 id=\"order_not_found\">"), "{page}");
    }
}
