//! What the judges work with.

use super::tools::Tools;
use crate::documents::{DOCUMENTS, Document};
use crate::repository::Repository;
use std::path::PathBuf;
use testbed::Program;

/// What every judge gets.
pub(super) struct Setup {
    pub repository: Repository,
    pub tools: Tools,
    pub program: Program,
}

impl Setup {
    /// The path of a document.
    pub fn document(&self, of: &Document) -> PathBuf {
        self.repository.root().join(of.file)
    }

    /// The path of each document.
    pub fn documents(&self) -> [PathBuf; DOCUMENTS.len()] {
        DOCUMENTS.map(|of| self.document(of))
    }
}
