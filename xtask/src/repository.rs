//! Where the files are that the commands read and write.

use anyhow::Context;
use std::path::{Path, PathBuf};

/// The document, as messages name it.
pub const DOCUMENT: &str = "spec/openapi.json";
/// The generated client, as messages name it.
pub const CLIENT_CODE: &str = "api/client/src/generated.rs";

/// A checkout of this repository.
#[derive(Clone, Debug)]
pub struct Repository {
    root: PathBuf,
}

impl Repository {
    /// The checkout that this program was built from: `cargo xtask` works from
    /// any directory inside it.
    pub fn here() -> Self {
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self::at(own.parent().unwrap_or(own))
    }

    /// The checkout in this directory.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    /// The text of one of its files. A file that is not there is an error.
    pub fn read(&self, name: &str) -> anyhow::Result<String> {
        std::fs::read_to_string(self.root.join(name)).with_context(|| format!("cannot read {name}"))
    }

    /// The text of a generated file, where one that is not there yet is empty.
    pub fn read_generated(&self, name: &str) -> anyhow::Result<String> {
        match std::fs::read_to_string(self.root.join(name)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
            other => other.with_context(|| format!("cannot read {name}")),
        }
    }

    /// Writes one of its files.
    pub fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        std::fs::write(self.root.join(name), text).with_context(|| format!("cannot write {name}"))
    }
}
