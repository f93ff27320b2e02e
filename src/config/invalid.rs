//! Settings that cannot be used: all of them in one error.

/// Invalid settings, each as "where: why".
#[derive(Debug, thiserror::Error)]
#[error("{}", listed(.0))]
pub struct InvalidSettings(pub Vec<String>);

impl InvalidSettings {
    /// Fails if there is any problem.
    pub fn check(problems: Vec<String>) -> Result<(), InvalidSettings> {
        if problems.is_empty() { Ok(()) } else { Err(InvalidSettings(problems)) }
    }
}

fn listed(problems: &[String]) -> String {
    match problems {
        [problem] => problem.clone(),
        _ => format!("{} invalid settings:\n  {}", problems.len(), problems.join("\n  ")),
    }
}
