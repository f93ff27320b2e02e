//! Collects all invalid settings in one error, so that the operator can correct them together.

/// Invalid settings, each as a message for the operator. Most messages begin with the place where
/// the setting is set.
#[derive(Debug, thiserror::Error)]
#[error("{}", format_problems(.0))]
pub struct InvalidSettings(pub Vec<String>);

impl InvalidSettings {
    pub fn check(problems: Vec<String>) -> Result<(), InvalidSettings> {
        if problems.is_empty() { Ok(()) } else { Err(InvalidSettings(problems)) }
    }
}

fn format_problems(problems: &[String]) -> String {
    match problems {
        [problem] => problem.clone(),
        _ => format!("{} invalid settings:\n  {}", problems.len(), problems.join("\n  ")),
    }
}
