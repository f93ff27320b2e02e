//! The checkout, the tools and the compiled program, which all external checks share.

use super::tools::Tools;
use crate::documents::{DOCUMENTS, Document};
use crate::repository::Repository;
use std::path::PathBuf;
use testbed::Program;

pub(super) struct Setup {
    pub repository: Repository,
    pub tools: Tools,
    pub program: Program,
}

impl Setup {
    pub fn document(&self, document: &Document) -> PathBuf {
        self.repository.root().join(document.file)
    }

    pub fn documents(&self) -> [PathBuf; DOCUMENTS.len()] {
        DOCUMENTS.map(|document| self.document(document))
    }
}
