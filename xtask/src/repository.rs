//! The files of a checkout: their paths, and functions that read and write them.

use anyhow::Context;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

pub const CLIENT_DOCS: &str = "api/client/src/lib.rs";
/// The client's manifest. The `cargo add` command in the samples uses the manifest's `repository`.
pub const CLIENT_MANIFEST: &str = "api/client/Cargo.toml";
pub const CLIENT_README: &str = "api/client/README.md";
/// The file with the client's open enums, to which the API may add values such as error codes.
pub const CLIENT_VALUES: &str = "api/client/src/generated/values.rs";
pub const PAGES: &str = "src/http/docs/generated";
/// The directory of the code samples, with a subdirectory per version.
pub const SAMPLES: &str = "spec/samples";
/// The samples in Rust, each in its own module. `tests/samples.rs` includes this file.
pub const RUST_SAMPLES: &str = "tests/samples/generated.rs";
/// The file that declares the modules of the client's generated code.
pub const CLIENT_MODULES: &str = "api/client/src/generated.rs";
/// The root source file of the server's crate.
pub const SERVER: &str = "src/lib.rs";
pub const CHANGELOG: &str = "CHANGELOG.md";
pub const GUIDE: &str = "spec/guide.md";

#[derive(Debug)]
pub struct GeneratedFile {
    /// The path relative to the checkout.
    pub name: String,
    /// The file from which this file is generated, or "all documents".
    pub source: &'static str,
    pub text: String,
}

#[derive(Clone, Debug)]
pub struct Repository {
    root: PathBuf,
}

impl Repository {
    /// The checkout that this program was built from. So `cargo xtask` works in every directory of
    /// the checkout.
    pub fn here() -> Self {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self::open(package.parent().unwrap_or(package))
    }

    pub fn open(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn read(&self, name: &str) -> anyhow::Result<String> {
        std::fs::read_to_string(self.root.join(name)).with_context(|| format!("cannot read {name}"))
    }

    /// True if the checkout contains the server. Some checkouts contain only the contract.
    pub fn has_server(&self) -> bool {
        self.root.join(SERVER).exists()
    }

    pub fn read_or_empty(&self, name: &str) -> anyhow::Result<String> {
        match std::fs::read_to_string(self.root.join(name)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
            other => other.with_context(|| format!("cannot read {name}")),
        }
    }

    pub fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        write_atomically(&self.root.join(name), text)
            .with_context(|| format!("cannot write {name}"))
    }

    /// Reads all files of a directory, by name. A missing directory counts as empty. A subdirectory
    /// is an error.
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

    /// Creates a file atomically. Also creates its directory if the directory is missing. Fails if
    /// the file exists.
    pub fn create(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let path = self.root.join(name);
        let file = temporary_file(&path, text);
        let result = file.and_then(|file| Ok(file.persist_noclobber(&path)?));
        result.map(drop).with_context(|| format!("cannot create {name}"))
    }
}

fn write_atomically(file: &Path, text: &str) -> std::io::Result<()> {
    temporary_file(file, text)?.persist(file)?;
    Ok(())
}

/// Writes the text to a temporary file in the directory of `file`. The caller then renames the
/// temporary file to `file`.
fn temporary_file(file: &Path, text: &str) -> std::io::Result<tempfile::NamedTempFile> {
    let parent = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent)?;
    let mut temporary = tempfile::Builder::new()
        .prefix(".whole-")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(parent)?;
    temporary.write_all(text.as_bytes())?;
    Ok(temporary)
}
