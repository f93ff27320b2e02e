//! What the judges work with.

use super::tools::Tools;
use crate::repository::{DOCUMENT, Repository};
use std::path::PathBuf;
use testbed::Program;

/// What every judge gets.
pub(super) struct Setup {
    pub repository: Repository,
    pub tools: Tools,
    pub program: Program,
}

impl Setup {
    /// The path of the document.
    pub fn document(&self) -> PathBuf {
        self.repository.root().join(DOCUMENT)
    }
}
