//! The published documents of all versions: `spec/published/VERSION.json`, byte for byte as they
//! were released, and their checksums in `SHA256SUMS`, in the format of
//! `sha256sum`.

use crate::documents::Document;
use crate::repository::Repository;
use crate::version;
use anyhow::{Context, bail};
use semver::Version;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Where they are, as messages name it.
pub const PUBLISHED: &str = "spec/published";
/// The file of checksums.
pub const SUMS: &str = "SHA256SUMS";

/// What is in the directory.
#[derive(Clone, Debug, Default)]
pub struct Published {
    /// The files by name, the checksums excepted.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The text of the checksums, empty if there is no such file.
    pub sums: String,
}

impl Published {
    /// Reads the directory. Without it, nothing has been published yet.
    pub fn read(repository: &Repository) -> anyhow::Result<Published> {
        let mut published = Published { files: repository.files(PUBLISHED)?, sums: String::new() };
        if let Some(sums) = published.files.remove(SUMS) {
            published.sums = String::from_utf8(sums)
                .with_context(|| format!("{PUBLISHED}/{SUMS} is not UTF-8"))?;
        }
        Ok(published)
    }

    /// The highest published version with this document's base path, and what was published.
    pub fn newest(&self, of: &Document) -> Option<(Version, &[u8])> {
        let mut newest = self.newest_of_each_path();
        newest.remove(of.base_path)
    }

    /// The highest published version of each base path, and what was published.
    pub fn newest_of_each_path(&self) -> BTreeMap<String, (Version, &[u8])> {
        let versions = self.versions().into_iter();
        versions.map(|newest| (format!("/v{}", newest.0.major), newest)).collect()
    }

    /// What was published, the lowest version first.
    pub fn versions(&self) -> Vec<(Version, &[u8])> {
        let files = self.files.iter();
        let mut versions: Vec<_> =
            files.filter_map(|(name, bytes)| Some((version_of(name)?, bytes.as_slice()))).collect();
        versions.sort();
        versions
    }

    /// The checksums by file name.
    pub fn checksums(&self) -> anyhow::Result<BTreeMap<String, String>> {
        let mut checksums = BTreeMap::new();
        for (number, line) in (1..).zip(self.sums.lines()) {
            let Some((sum, name)) = checksum_line(line) else {
                bail!("{PUBLISHED}/{SUMS}:{number}: not a line of sha256sum");
            };
            if checksums.insert(name.to_string(), sum.to_string()).is_some() {
                bail!("{PUBLISHED}/{SUMS}:{number}: {name} is listed twice");
            }
        }
        Ok(checksums)
    }
}

fn checksum_line(line: &str) -> Option<(&str, &str)> {
    let (sum, name) = line.split_once("  ")?;
    let is_sum = sum.len() == 64 && sum.bytes().all(|digit| digit.is_ascii_hexdigit());
    (is_sum && !name.is_empty()).then_some((sum, name))
}

/// The file of a version.
pub fn file_name(version: &Version) -> String {
    format!("{version}.json")
}

/// The version in the name of a file, if it is one of these.
pub fn version_of(file_name: &str) -> Option<Version> {
    version::parse(file_name.strip_suffix(".json")?)
}

/// SHA-256 in lower-case hexadecimal.
pub fn checksum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::{V1, V2};

    #[test]
    fn the_checksum_is_sha_256() {
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(checksum(b"abc"), known);
    }

    #[test]
    fn the_newest_is_the_greatest_version_not_the_last_name() {
        let files =
            ["1.9.0.json", "1.10.0.json", "2.0.0-beta.10.json", "2.0.0-beta.9.json", "x.json"];
        let files = files.map(|name| (name.to_string(), name.as_bytes().to_vec())).into();
        let published = Published { files, sums: String::new() };
        assert_eq!(published.newest(&V1).unwrap().1, b"1.10.0.json");
        assert_eq!(published.newest(&V2).unwrap().1, b"2.0.0-beta.10.json");
    }
}
