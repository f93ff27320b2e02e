//! What a check finds.

use crate::line_diff::line_diff;
use crate::repository::Repository;
use anstyle::Style;

const PLACE: Style = Style::new().bold();

/// A value that is absent.
pub(super) const ABSENT: &str = "absent";

/// Longer lines of what the tool writes are cut, to fit a terminal.
const MAX_CHARS: usize = 100;

/// Two values that do not agree.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// A file, or FILE#POINTER with a JSON pointer into it.
    pub place: String,
    /// What should be there.
    pub expected: String,
    /// What is there.
    pub found: String,
    /// What requires it, a line each.
    pub reasons: Vec<String>,
    /// What makes the two agree.
    pub fix: Fix,
}

/// What makes two values agree.
#[derive(Clone, Debug, PartialEq)]
pub enum Fix {
    /// `cargo xtask check --fix` writes this text.
    Write {
        /// To this file.
        file: String,
        /// The whole text.
        text: String,
    },
    /// The file to edit or the command to run.
    ByHand(String),
}

impl Problem {
    /// The problem of a file with another text than `expected`, which the tool can write.
    pub(super) fn of_text(file: &str, expected: String, found: String) -> Self {
        let fix = Fix::Write { file: file.to_string(), text: expected.clone() };
        Self { place: file.to_string(), expected, found, reasons: Vec::new(), fix }
    }

    /// Writes what the tool can write. Returns the name of the file.
    pub(super) fn write(&self, repository: &Repository) -> anyhow::Result<Option<&str>> {
        let Fix::Write { file, text } = &self.fix else { return Ok(None) };
        repository.write(file, text)?;
        Ok(Some(file))
    }

    /// The problem as it is printed.
    pub fn lines(&self) -> Vec<String> {
        let Self { place, expected, found, .. } = self;
        let (fix, max_chars) = match &self.fix {
            Fix::Write { .. } => ("cargo xtask check --fix", MAX_CHARS),
            // All of it is to be typed.
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
    fn of_an_absent_text_no_line_is_shown() {
        let fix = Fix::ByHand("edit it".to_string());
        let (place, expected) = ("x.json".to_string(), "a\nb".to_string());
        let problem =
            Problem { place, expected, found: ABSENT.to_string(), reasons: Vec::new(), fix };
        let lines = problem.lines().join("\n");
        assert!(!lines.contains(ABSENT) && lines.contains("+a"), "{lines}");
    }
}
