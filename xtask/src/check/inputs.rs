//! What the checks read: the repository, the documents, the history and the date.

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

/// The inputs of the checks. An unreadable input is stored as an error, which stops only the checks
/// that need it.
#[derive(Debug)]
pub struct Inputs {
    pub repository: Repository,
    /// The documents that dropshot emits from the generated types. Evaluated lazily, because
    /// emitting compiles these types, and `--fix` may have to rewrite them first.
    pub emitted: LazyLock<Emitted, Box<dyn FnOnce() -> Emitted>>,
    pub published: anyhow::Result<Published>,
    pub history: anyhow::Result<History>,
    /// Today's date, which decides whether an operation's `x-sunset` has passed.
    pub today: NaiveDate,
}

impl Inputs {
    pub fn read(
        repository: &Repository,
        emitted: impl FnOnce(&Repository) -> Emitted + 'static,
    ) -> Self {
        let checkout = repository.clone();
        Self {
            repository: repository.clone(),
            emitted: LazyLock::new(Box::new(move || emitted(&checkout))),
            published: Published::read(repository),
            history: History::read(repository),
            today: Utc::now().date_naive(),
        }
    }

    pub(super) fn document(&self, file: &str) -> anyhow::Result<Value> {
        canonical_json::parse(file, &self.repository.read(file)?)
    }
}

pub(super) const ALL_DOCUMENTS: &str = "the documents in spec";

pub(super) fn in_each_document(
    check: impl Fn(&'static Document) -> anyhow::Result<Vec<Problem>>,
) -> anyhow::Result<Vec<Problem>> {
    let problems: Vec<_> = DOCUMENTS.into_iter().map(check).collect::<Result<_, _>>()?;
    Ok(problems.concat())
}

/// Returns an input, or the error that prevented reading it. The error is copied, because several
/// checks may report it.
pub(super) fn available<T>(input: &anyhow::Result<T>) -> anyhow::Result<&T> {
    input.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"))
}
