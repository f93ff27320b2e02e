//! What the checks compare.

use super::problem::Problem;
use crate::canonical_json;
use crate::documents::{DOCUMENTS, Document};
use crate::emitted::Emitted;
use crate::history::History;
use crate::published::Published;
use crate::repository::Repository;
use chrono::{NaiveDate, Utc};
use serde_json::Value;
use std::sync::LazyLock;

/// What the checks compare. What could not be read holds the reason: the checks that need it
/// cannot run, the others still do.
#[derive(Debug)]
pub struct Inputs {
    /// The checkout with the files.
    pub repository: Repository,
    /// What the contract in Rust emits for each version, the stable one first. Asked only when
    /// the generated files have been checked, and with `--fix` written.
    pub emitted: LazyLock<Emitted, Box<dyn FnOnce() -> Emitted>>,
    /// The published documents.
    pub published: anyhow::Result<Published>,
    /// The published documents in the history of the main branch.
    pub history: anyhow::Result<History>,
    /// The day on which the checks run: a sunset may have passed.
    pub today: NaiveDate,
}

impl Inputs {
    /// What is emitted, and the files of a checkout.
    pub fn read(
        repository: &Repository,
        emitted: impl FnOnce(&Repository) -> Emitted + 'static,
    ) -> Self {
        let own = repository.clone();
        Self {
            repository: repository.clone(),
            emitted: LazyLock::new(Box::new(move || emitted(&own))),
            published: Published::read(repository),
            history: History::read(repository),
            today: Utc::now().date_naive(),
        }
    }

    /// The file of a document as a value.
    pub(super) fn document(&self, file: &str) -> anyhow::Result<Value> {
        canonical_json::parse(file, &self.repository.read(file)?)
    }
}

/// The files of the documents.
pub(super) fn document_files() -> String {
    DOCUMENTS.map(|of| of.file).join(" and ")
}

/// What a check finds in each document.
pub(super) fn in_each_document(
    check: impl Fn(&'static Document) -> anyhow::Result<Vec<Problem>>,
) -> anyhow::Result<Vec<Problem>> {
    let found: Vec<_> = DOCUMENTS.into_iter().map(check).collect::<Result<_, _>>()?;
    Ok(found.concat())
}

/// An input, or why it could not be read.
pub(super) fn available<T>(input: &anyhow::Result<T>) -> anyhow::Result<&T> {
    input.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"))
}
