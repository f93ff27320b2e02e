//! The files that the commands read and write.

use anyhow::Context;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The file with the documentation of the client's crate, as messages name it.
pub const CLIENT_DOCS: &str = "api/client/src/lib.rs";
/// The README of the client's crate, as messages name it.
pub const CLIENT_README: &str = "api/client/README.md";
/// The directory of the generated pages of the server.
pub const PAGES: &str = "src/http/docs/generated";
/// The directory of the programs to copy; that of a version has those that differ.
pub const SAMPLES: &str = "spec/samples";
/// The root file of the server, as messages name it.
pub const SERVER: &str = "src/lib.rs";
/// The changelog, as messages name it.
pub const CHANGELOG: &str = "CHANGELOG.md";

/// A file as it is generated.
#[derive(Debug)]
pub struct GeneratedFile {
    /// Its name.
    pub name: String,
    /// The file that it is generated from.
    pub source: &'static str,
    /// What it says.
    pub text: String,
}

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

    /// Its directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The text of one of its files.
    pub fn read(&self, name: &str) -> anyhow::Result<String> {
        std::fs::read_to_string(self.root.join(name)).with_context(|| format!("cannot read {name}"))
    }

    /// Whether it has the server, and not the contract alone.
    pub fn has_server(&self) -> bool {
        self.root.join(SERVER).exists()
    }

    /// The text of one of its files, empty if there is none.
    pub fn read_or_empty(&self, name: &str) -> anyhow::Result<String> {
        match std::fs::read_to_string(self.root.join(name)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
            other => other.with_context(|| format!("cannot read {name}")),
        }
    }

    /// Writes one of its files, whole or not at all.
    pub fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        write_whole(&self.root.join(name), text).with_context(|| format!("cannot write {name}"))
    }

    /// The files of a directory by name. A missing directory has none; a
    /// subdirectory is an error.
    pub fn files(&self, name: &str) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
        let entries = match std::fs::read_dir(self.root.join(name)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(BTreeMap::new());
            }
            other => other.with_context(|| format!("cannot read {name}"))?,
        };
        let mut files = BTreeMap::new();
        for entry in entries {
            let entry = entry.with_context(|| format!("cannot read {name}"))?;
            let file = entry.file_name().to_string_lossy().into_owned();
            let bytes = std::fs::read(entry.path())
                .with_context(|| format!("cannot read {name}/{file}"))?;
            files.insert(file, bytes);
        }
        Ok(files)
    }

    /// Writes a new file whole or not at all, and its directory if needed. An existing file is an
    /// error and stays as it is.
    pub fn create(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let path = self.root.join(name);
        let written = whole(&path, text).and_then(|whole| Ok(whole.persist_noclobber(&path)?));
        written.map(drop).with_context(|| format!("cannot create {name}"))
    }
}

fn write_whole(file: &Path, text: &str) -> std::io::Result<()> {
    whole(file, text)?.persist(file)?;
    Ok(())
}

/// This text in a file beside the one that it will be.
fn whole(file: &Path, text: &str) -> std::io::Result<tempfile::NamedTempFile> {
    let parent = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent)?;
    let mut whole = tempfile::Builder::new()
        .prefix(".whole-")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(parent)?;
    whole.write_all(text.as_bytes())?;
    Ok(whole)
}
