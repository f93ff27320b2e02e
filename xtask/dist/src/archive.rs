//! Archives whose bytes depend on nothing but their content: entries in a fixed order, one
//! time for all, owners by number.

use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io::Write;
use tar::{Builder, EntryType, Header};

/// A file or a directory of an archive.
pub struct Entry {
    /// Where it is, without a slash at the begin.
    pub path: String,
    /// Its permissions.
    pub mode: u32,
    /// Its user and group.
    pub owner: u64,
    /// What it holds; none if it is a directory.
    pub content: Option<Vec<u8>>,
}

impl Entry {
    /// A directory that anyone may read.
    pub fn directory(path: impl Into<String>) -> Entry {
        Entry { path: path.into(), mode: 0o755, owner: 0, content: None }
    }

    /// A file that anyone may read.
    pub fn file(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Entry {
        Entry { path: path.into(), mode: 0o644, owner: 0, content: Some(content.into()) }
    }

    /// A file that anyone may run.
    pub fn program(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Entry {
        Entry { mode: 0o755, ..Entry::file(path, content) }
    }
}

/// An uncompressed archive. Each entry has this time, in Unix seconds.
pub fn tar(entries: &[Entry], time: u64) -> anyhow::Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    for entry in entries {
        let content = entry.content.as_deref().unwrap_or_default();
        let mut header = Header::new_ustar();
        header.set_path(&entry.path)?;
        header.set_mode(entry.mode);
        header.set_uid(entry.owner);
        header.set_gid(entry.owner);
        header.set_mtime(time);
        header.set_size(content.len() as u64);
        let is_file = entry.content.is_some();
        header.set_entry_type(if is_file { EntryType::Regular } else { EntryType::Directory });
        header.set_cksum();
        archive.append(&header, content)?;
    }
    Ok(archive.into_inner()?)
}

/// Compressed; gzip's own time stays empty.
pub fn gzip(content: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut packed = GzBuilder::new().write(Vec::new(), Compression::best());
    packed.write_all(content)?;
    Ok(packed.finish()?)
}

/// The SHA-256 in hexadecimal digits.
pub fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;

    #[test]
    fn entries_have_the_mode_the_owner_and_the_time_that_they_are_given() {
        let entries = [
            Entry::directory("bin/"),
            Entry::program("bin/x", "#!"),
            Entry { owner: 65_532, mode: 0o700, ..Entry::directory("data/") },
        ];
        let packed = gzip(&tar(&entries, 1_700_000_000).unwrap()).unwrap();
        let mut archive = tar::Archive::new(GzDecoder::new(&packed[..]));
        let read: Vec<_> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let header = entry.header();
                let path = entry.path().unwrap().display().to_string();
                (path, header.mode().unwrap(), header.uid().unwrap(), header.mtime().unwrap())
            })
            .collect();
        let expected = [("bin/", 0o755, 0), ("bin/x", 0o755, 0), ("data/", 0o700, 65_532)];
        let expected =
            expected.map(|(path, mode, owner)| (path.to_string(), mode, owner, 1_700_000_000));
        assert_eq!(read, expected);
        assert!(sha256(b"").starts_with("e3b0c44298fc1c14"));
    }
}
