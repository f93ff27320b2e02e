//! Describes a problem that a check found. Writes the fix to a file, unless a person must make the
//! fix.

use crate::line_diff::line_diff;
use crate::repository::Repository;
use anstyle::Style;

const PLACE: Style = Style::new().bold();

pub(super) const ABSENT: &str = "absent";

/// If `--fix` can apply a diff, the lines of the diff are cut to this length, because generated
/// lines can be very long. Other diffs are not cut, because a person must copy their lines.
const MAX_CHARS: usize = 100;

#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The file with the problem, or a place in the file, such as `FILE#POINTER` with a JSON
    /// pointer.
    pub place: String,
    pub expected: String,
    pub found: String,
    /// The reasons for the expected value, a line each.
    pub reasons: Vec<String>,
    pub fix: Fix,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Fix {
    /// `cargo xtask check --fix` writes this text.
    Write { file: String, text: String },
    /// What a person must do, such as a file to edit or a command to run.
    ByHand(String),
}

impl Problem {
    /// Returns a problem for a file with unexpected content. `--fix` writes the expected content.
    pub(super) fn for_file(file: &str, expected: String, found: String) -> Self {
        let fix = Fix::Write { file: file.to_string(), text: expected.clone() };
        Self { place: file.to_string(), expected, found, reasons: Vec::new(), fix }
    }

    /// Writes the fix and returns the name of the file. Returns `None` if a person must make the
    /// fix.
    pub(super) fn write(&self, repository: &Repository) -> anyhow::Result<Option<&str>> {
        let Fix::Write { file, text } = &self.fix else { return Ok(None) };
        repository.write(file, text)?;
        Ok(Some(file))
    }

    pub fn lines(&self) -> Vec<String> {
        let Self { place, expected, found, .. } = self;
        let (fix, max_chars) = match &self.fix {
            Fix::Write { .. } => ("cargo xtask check --fix", MAX_CHARS),
            // Do not cut the lines of the diff, because a person must type or copy them.
            Fix::ByHand(fix) => (fix.as_str(), usize::MAX),
        };
        let mut lines = Vec::new();
        if expected.contains('\n') || found.contains('\n') {
            lines.push(format!("{PLACE}{place}{PLACE:#}: found (-), expected (+)"));
            let text = |text| if text == ABSENT { "" } else { text };
            let differences = line_diff(text(found), text(expected), max_chars);
            lines.extend(differences.iter().map(|line| format!("  {line}")));
        } else {
            lines.push(format!("{PLACE}{place}{PLACE:#}"));
            lines.push(format!("  expected: {expected}"));
            lines.push(format!("  found:    {found}"));
        }
        lines.extend(self.reasons.iter().map(|reason| format!("  - {reason}")));
        lines.push(format!("  fix: {fix}"));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_diff_of_an_absent_text_has_only_new_lines() {
        let fix = Fix::ByHand("edit it".to_string());
        let (place, expected) = ("x.json".to_string(), "a\nb".to_string());
        let problem =
            Problem { place, expected, found: ABSENT.to_string(), reasons: Vec::new(), fix };
        let lines = problem.lines().join("\n");
        assert!(!lines.contains(ABSENT) && lines.contains("+a"), "{lines}");
    }
}
