//! What the judges work with.

use super::server::ServerProgram;
use super::tools::Tools;
use crate::repository::{DOCUMENT, Repository};
use std::path::PathBuf;

/// What every judge gets.
pub(super) struct Setup {
    pub repository: Repository,
    pub tools: Tools,
    pub program: ServerProgram,
}

impl Setup {
    /// The path of the document.
    pub fn document(&self) -> PathBuf {
        self.repository.root().join(DOCUMENT)
    }
}
