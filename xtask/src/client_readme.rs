//! Generates the README of the client's crate from the crate's documentation. Writes no file.

use anyhow::ensure;

const TITLE: &str = "\
<!-- Made by `cargo xtask generate` from the documentation in src/lib.rs: edit that. -->

# store-orders-client
";

/// Returns the text of the README. `source` is the crate's `lib.rs`.
pub fn client_readme(source: &str) -> anyhow::Result<String> {
    let mut lines = Vec::new();
    let mut in_code = false;
    let docs = source.lines().map_while(|line| line.strip_prefix("//!"));
    for line in docs.map(|line| line.strip_prefix(' ').unwrap_or(line)) {
        match line.strip_prefix("```") {
            Some(_) if in_code => lines.push("```".to_string()),
            Some(info) => lines.push(format!("```{}", language(info))),
            None if in_code => lines.extend(visible_line(line)),
            None if line.starts_with('#') => lines.push(format!("#{line}")),
            None => lines.push(without_item_links(line)),
        }
        in_code ^= line.starts_with("```");
    }
    ensure!(!lines.is_empty() && !in_code, "the documentation is missing, or ends within code");
    Ok(format!("{TITLE}\n{}\n", lines.join("\n")))
}

/// Returns the language of a code block in the README. Drops attributes such as `no_run`, because
/// only rustdoc understands them.
fn language(info: &str) -> &str {
    if matches!(info, "text" | "toml") { info } else { "rust" }
}

/// Returns a line of code unless rustdoc hides it.
fn visible_line(line: &str) -> Option<String> {
    let is_hidden = line == "#" || line.starts_with("# ");
    (!is_hidden).then(|| line.to_string())
}

/// Replaces links to Rust items, such as [`Error`], [`code`](Error::code) or [a page](v2::Page),
/// with their text, because these links work only in rustdoc.
fn without_item_links(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, link)) = rest.split_once('[') {
        let Some((name, after)) = link.split_once(']') else { break };
        let target = after.strip_prefix('(').and_then(|target| target.split_once(')'));
        text += before;
        rest = match target {
            Some((target, after)) if !target.starts_with('#') && !target.contains("://") => {
                text += name;
                after
            }
            None if name.starts_with('`') => {
                text += name;
                after
            }
            _ => {
                text += &format!("[{name}]");
                after
            }
        };
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_becomes_a_readme() {
        let source = "//! A [`Client`] has a [`code`](Error::code), see [a page](v2::Page), [b](#part),\n\
                      //! [c](https://c.example) and `[\"d\"]`.\n//!\n\
                      //! ```no_run\n//! # hidden\n//! #[expect(x)]\n//! shown();\n//! ```\n\
                      //! # Part\n//! ```text\n//! 1\n//! ```\n\nmod a;\n//! not\n";
        let expected = "A `Client` has a `code`, see a page, [b](#part),\n\
                        [c](https://c.example) and `[\"d\"]`.\n\n\
                        ```rust\n#[expect(x)]\nshown();\n```\n\
                        ## Part\n```text\n1\n```\n";
        assert_eq!(client_readme(source).unwrap(), format!("{TITLE}\n{expected}"));
    }

    #[test]
    fn missing_or_unfinished_documentation_is_an_error() {
        for source in ["", "mod a;\n//! A.\n", "//! ```\n//! a();\n"] {
            assert!(client_readme(source).is_err(), "{source}");
        }
    }
}
