//! What the checks compare.

use super::problem::Problem;
use crate::canonical_json;
use crate::history::History;
use crate::published::Published;
use crate::repository::{
    CHANGELOG, CLIENT_DOCS, CLIENT_README, CLIENTS, ClientFiles, PAGES, Repository,
};
use anyhow::Context;
use chrono::{NaiveDate, Utc};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use store_orders_api::document;
use store_orders_api::documents::{DOCUMENTS, Document};

/// What the checks compare. An input that could not be read holds the reason:
/// the checks that need it cannot run, the others still do.
#[derive(Debug)]
pub struct Inputs {
    /// The document of each version, the stable one first.
    pub documents: Vec<DocumentInputs>,
    /// The generated clients.
    pub clients: Vec<ClientInputs>,
    /// The text of the file with the documentation of the client's crate.
    pub client_docs: anyhow::Result<String>,
    /// The text of the README of the client's crate, empty where there is none yet.
    pub client_readme: anyhow::Result<String>,
    /// The texts of the generated pages by name; none in a checkout without a server.
    pub pages: anyhow::Result<Option<BTreeMap<String, String>>>,
    /// The published documents.
    pub published: anyhow::Result<Published>,
    /// The published documents in the history of the main branch.
    pub history: anyhow::Result<History>,
    /// The text of the changelog.
    pub changelog: anyhow::Result<String>,
    /// The directory of the checkout.
    pub root: PathBuf,
    /// The day on which the checks run: a sunset may have passed.
    pub today: NaiveDate,
}

/// A document of the API.
#[derive(Debug)]
pub struct DocumentInputs {
    /// Which version's it is.
    pub of: &'static Document,
    /// What the contract in Rust emits.
    pub emitted: anyhow::Result<Value>,
    /// The text of the file.
    pub text: anyhow::Result<String>,
}

impl DocumentInputs {
    fn read(repository: &Repository, of: &'static Document) -> Self {
        let emitted = document::emitted(of).map_err(anyhow::Error::from);
        Self { of, emitted, text: repository.read(of.file) }
    }

    /// The file as a value.
    pub fn parsed(&self) -> anyhow::Result<Value> {
        canonical_json::parse(self.of.file, available(&self.text)?)
    }
}

/// The files of a generated client.
#[derive(Debug)]
pub struct ClientInputs {
    /// Which files they are.
    pub files: &'static ClientFiles,
    /// The text of the generated file, empty where there is none yet.
    pub code: anyhow::Result<String>,
    /// The text of the file with its public methods.
    pub operations: anyhow::Result<String>,
}

impl ClientInputs {
    fn read(repository: &Repository, files: &'static ClientFiles) -> Self {
        Self {
            files,
            code: repository.read_generated(files.code),
            operations: repository.read(files.operations),
        }
    }
}

impl Inputs {
    /// What this program emits, and the files of a checkout.
    pub fn read(repository: &Repository) -> Self {
        Self {
            documents: DOCUMENTS.iter().map(|of| DocumentInputs::read(repository, of)).collect(),
            clients: CLIENTS.iter().map(|files| ClientInputs::read(repository, files)).collect(),
            client_docs: repository.read(CLIENT_DOCS),
            client_readme: repository.read_generated(CLIENT_README),
            pages: generated_pages(repository),
            published: Published::read(repository),
            history: History::read(repository),
            changelog: repository.read(CHANGELOG),
            root: repository.root().to_path_buf(),
            today: Utc::now().date_naive(),
        }
    }

    /// The document in this file, as a value.
    pub fn parsed_document(&self, file: &str) -> anyhow::Result<Value> {
        let document = self.documents.iter().find(|document| document.of.file == file);
        document.with_context(|| format!("{file} is the document of no version"))?.parsed()
    }

    /// The files of the documents.
    pub(super) fn document_files(&self) -> String {
        let files: Vec<_> = self.documents.iter().map(|document| document.of.file).collect();
        files.join(" and ")
    }

    /// What a check finds in each document.
    pub(super) fn in_each_document(
        &self,
        check: impl Fn(&DocumentInputs) -> anyhow::Result<Vec<Problem>>,
    ) -> anyhow::Result<Vec<Problem>> {
        let found: Vec<_> = self.documents.iter().map(check).collect::<Result<_, _>>()?;
        Ok(found.concat())
    }
}

fn generated_pages(repository: &Repository) -> anyhow::Result<Option<BTreeMap<String, String>>> {
    if !repository.has_server() {
        return Ok(None);
    }
    let text = |(name, bytes): (String, Vec<u8>)| {
        (format!("{PAGES}/{name}"), String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(Some(repository.files(PAGES)?.into_iter().map(text).collect()))
}

/// An input, or why it could not be read.
pub(super) fn available<T>(input: &anyhow::Result<T>) -> anyhow::Result<&T> {
    input.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"))
}
