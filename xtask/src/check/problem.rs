//! What a check finds.

use anstyle::Style;

const PLACE: Style = Style::new().bold();

/// Something that does not agree with something else.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Where it is: a file, or a JSON pointer into the document.
    pub place: String,
    /// What is there.
    pub details: Vec<String>,
    /// The file to edit or the command to run.
    pub fix: String,
}

impl Problem {
    /// The problem as it is printed.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("{PLACE}{}{PLACE:#}", self.place)];
        lines.extend(self.details.iter().map(|line| format!("  {line}")));
        lines.push(format!("  fix: {}", self.fix));
        lines
    }
}
