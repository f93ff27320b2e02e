//! Moves a file that is not used out of the way, so that it can be examined.

use std::ffi::OsString;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// Renames the file, with SQLite's files next to it, and returns its new name, which says
/// why and when.
pub fn quarantine(path: &Path, why: &str, unix_seconds: u64) -> Result<PathBuf, Error> {
    let renamed = (1..)
        .map(|number| match number {
            1 => with_suffix(path, &format!(".{why}-{unix_seconds}")),
            _ => with_suffix(path, &format!(".{why}-{unix_seconds}-{number}")),
        })
        .find(|name| !name.exists())
        .unwrap_or_else(|| with_suffix(path, &format!(".{why}")));
    for suffix in ["-wal", "-shm"] {
        match std::fs::rename(with_suffix(path, suffix), with_suffix(&renamed, suffix)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    std::fs::rename(path, &renamed)?;
    Ok(renamed)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_stays_where_what_is_next_to_it_cannot_be_moved() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        std::fs::write(&path, "").unwrap();
        std::fs::write(with_suffix(&path, "-wal"), "").unwrap();
        std::fs::create_dir(directory.path().join("a.damaged-7-wal")).unwrap();
        quarantine(&path, "damaged", 7).unwrap_err();
        assert!(path.exists());
        let renamed = quarantine(&path, "damaged", 8).unwrap();
        assert!(!path.exists() && renamed.exists() && with_suffix(&renamed, "-wal").exists());
    }
}
