//! The licences of all that is in the program, as one text.

use crate::checkout::Checkout;
use crate::command::output;
use crate::crates::Crate;
use anyhow::Context;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How the names of licence files begin, in capitals.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT"];

/// Directories of a crate's source that its program does not come from.
const UNUSED: [&str; 6] = ["tests", "test", "benches", "examples", "fuzz", "target"];

/// The licence of a crate whose package lacks the text, in this repository.
const KEPT: [(&str, &str); 1] = [("scalar_api_reference", "src/http/docs/assets/LICENSE-scalar")];

/// Where Debian and Ubuntu have the licence of the C library.
const LGPL: &str = "/usr/share/common-licenses/LGPL-2.1";

/// What is in the program besides crates.
#[derive(Debug)]
pub struct Runtime {
    /// What it is called.
    pub name: &'static str,
    /// Its version.
    pub version: String,
    /// Its licence, as an SPDX expression.
    pub licence: &'static str,
    /// Where its source is.
    pub source: &'static str,
}

/// The C library and Rust's standard library, which are linked statically.
pub fn runtimes() -> anyhow::Result<[Runtime; 2]> {
    let c_library = output(Command::new("getconf").arg("GNU_LIBC_VERSION"))?;
    let rust = output(Command::new("rustc").arg("--version"))?;
    let version = |text: &str| text.split_whitespace().nth(1).map(str::to_string);
    Ok([
        Runtime {
            name: "glibc",
            version: version(&c_library).context("getconf names no version")?,
            licence: "LGPL-2.1-or-later",
            source: "https://sourceware.org/glibc/",
        },
        Runtime {
            name: "rust-std",
            version: version(&rust).context("rustc names no version")?,
            licence: "MIT OR Apache-2.0",
            source: "https://github.com/rust-lang/rust",
        },
    ])
}

/// Every licence text once, with the crates that it is for.
pub fn text(checkout: &Checkout, crates: &[Crate], runtimes: &[Runtime]) -> anyhow::Result<String> {
    let mut text = String::from(
        "What is in the program store-orders besides its own code, and under which licence.\n\n",
    );
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in crates.iter().filter(|one| !one.is_ours()) {
        let name = format!("{} {}", one.id.0, one.id.1);
        let mut files = licence_files(&one.directory)?;
        let kept = KEPT.iter().filter(|(kept, _)| *kept == one.id.0);
        files.extend(kept.map(|(_, file)| checkout.root().join(file)));
        let without = if files.is_empty() { "; its package holds no licence text" } else { "" };
        writeln!(text, "{name}: {}{without}", one.licence)?;
        for file in files {
            let content = std::fs::read(&file)?;
            let content = String::from_utf8_lossy(&content).replace("\r\n", "\n");
            let users = texts.entry(content.trim().to_string()).or_default();
            if !users.contains(&name) {
                users.push(name.clone());
            }
        }
    }
    for runtime in runtimes {
        writeln!(text, "{} {}: {}", runtime.name, runtime.version, runtime.licence)?;
    }
    text.push_str(
        "\nThe C library (glibc) is linked statically. Its source is at \
         https://sourceware.org/glibc/;\nthe program can be linked with another version of it by \
         building it from its own source:\ncargo xtask dist.\n",
    );
    let lgpl = std::fs::read_to_string(LGPL)
        .with_context(|| format!("cannot read {LGPL}, which the package base-files has"))?;
    texts.entry(lgpl.trim().to_string()).or_default().push("glibc".to_string());
    for (licence, users) in texts {
        let line = "-".repeat(80);
        write!(text, "\n{line}\n{}\n{line}\n\n{licence}\n", users.join("\n"))?;
    }
    Ok(text)
}

/// The licence files of a crate, and of what its source contains.
fn licence_files(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = std::fs::read_dir(directory)
        .with_context(|| format!("cannot read {}", directory.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type()?;
        if kind.is_dir() && !UNUSED.contains(&name.as_str()) && !name.starts_with('.') {
            files.extend(licence_files(&entry.path())?);
        } else if entry.path().is_file() && is_licence(&name) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// Whether a file of this name holds a licence, and is not source that is called so.
fn is_licence(name: &str) -> bool {
    let capitals = name.to_uppercase();
    let is_named = NAMES.iter().any(|begin| capitals.starts_with(begin));
    let is_source = [".rs", ".c", ".h", ".py", ".go", ".json", ".toml"];
    is_named && !is_source.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licence_files_are_known_by_their_names() {
        for name in ["LICENSE", "LICENSE-MIT", "license-apache.md", "NOTICE", "COPYING.txt"] {
            assert!(is_licence(name), "{name}");
        }
        for name in ["license.rs", "README.md", "notices.json", "src"] {
            assert!(!is_licence(name), "{name}");
        }
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../api/client");
        assert_eq!(licence_files(&own).unwrap().len(), 1);
    }
}
