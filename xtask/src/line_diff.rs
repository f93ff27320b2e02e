//! Formats the differences between two texts for the terminal, with context. Long output is cut.

use anstyle::{AnsiColor, Style};
use similar::{ChangeTag, TextDiff};

/// The maximum number of lines shown. After `check --fix`, `git diff` shows the rest.
const MAX_LINES: usize = 40;

const REMOVED: Style = AnsiColor::Red.on_default();
const ADDED: Style = AnsiColor::Green.on_default();

pub fn line_diff(old: &str, new: &str, max_chars: usize) -> Vec<String> {
    let diff = TextDiff::from_lines(old, new);
    let mut lines = Vec::new();
    for hunk in diff.unified_diff().context_radius(2).iter_hunks() {
        lines.push(hunk.header().to_string());
        for change in hunk.iter_changes() {
            let (sign, style) = match change.tag() {
                ChangeTag::Delete => ('-', REMOVED),
                ChangeTag::Insert => ('+', ADDED),
                ChangeTag::Equal => (' ', Style::new()),
            };
            let text = cut(change.value().trim_end_matches('\n'), max_chars);
            lines.push(format!("{style}{sign}{text}{style:#}"));
        }
    }
    let more = lines.len().saturating_sub(MAX_LINES);
    if more > 0 {
        lines.truncate(MAX_LINES);
        lines.push(format!("… and {more} more lines"));
    }
    lines
}

fn cut(line: &str, max_chars: usize) -> String {
    let chars = line.chars().count();
    if chars <= max_chars {
        return line.to_string();
    }
    let shown: String = line.chars().take(max_chars).collect();
    format!("{shown}… ({chars} characters)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_lines_that_differ() {
        let lines = line_diff("a\nb\nc\n", "a\nx\nc\n", 80).join("\n");
        let plain = anstream::adapter::strip_str(&lines).to_string();
        assert_eq!(plain, "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c");
    }

    #[test]
    fn is_short_even_if_everything_differs() {
        let old: String = (0..500).map(|line| format!("{line}\n")).collect();
        assert_eq!(line_diff(&old, "", 80).len(), MAX_LINES + 1);
    }
}
