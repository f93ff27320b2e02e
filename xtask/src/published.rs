//! The published documents of all versions: `spec/published/VERSION.json`, byte for byte as they
//! were released.

use crate::documents::Document;
use crate::repository::Repository;
use crate::version;
use semver::Version;
use std::collections::BTreeMap;

/// Where they are, as messages name it.
pub const PUBLISHED: &str = "spec/published";

/// What is in the directory.
#[derive(Clone, Debug, Default)]
pub struct Published {
    /// The files by name.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Published {
    /// Reads the directory. Without it, nothing has been published yet.
    pub fn read(repository: &Repository) -> anyhow::Result<Published> {
        Ok(Published { files: repository.files(PUBLISHED)? })
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
}

/// The file of a version.
pub fn file_name(version: &Version) -> String {
    format!("{version}.json")
}

/// The version in the name of a file, if it is one of these.
pub fn version_of(file_name: &str) -> Option<Version> {
    version::parse(file_name.strip_suffix(".json")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::{V1, V2};

    #[test]
    fn the_newest_is_the_greatest_version_not_the_last_name() {
        let files =
            ["1.9.0.json", "1.10.0.json", "2.0.0-beta.10.json", "2.0.0-beta.9.json", "x.json"];
        let files = files.map(|name| (name.to_string(), name.as_bytes().to_vec())).into();
        let published = Published { files };
        assert_eq!(published.newest(&V1).unwrap().1, b"1.10.0.json");
        assert_eq!(published.newest(&V2).unwrap().1, b"2.0.0-beta.10.json");
    }
}
