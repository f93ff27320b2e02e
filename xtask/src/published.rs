//! Reads the published documents, `spec/published/VERSION.json`, as bytes. A published document
//! must stay the same, byte for byte.

use crate::documents::Document;
use crate::repository::Repository;
use crate::version;
use semver::{Prerelease, Version};
use std::collections::BTreeMap;

/// The directory of the published documents, relative to the checkout.
pub const PUBLISHED: &str = "spec/published";

#[derive(Clone, Debug, Default)]
pub struct Published {
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Published {
    /// Reads [`PUBLISHED`]. A missing directory counts as empty, because nothing has been published
    /// yet.
    pub fn read(repository: &Repository) -> anyhow::Result<Published> {
        Ok(Published { files: repository.files(PUBLISHED)? })
    }

    /// True if `name` is the missing file of a beta whose stable version is published. The file may
    /// be missing, because betas promise nothing.
    pub fn is_replaced_beta(&self, name: &str) -> bool {
        !self.files.contains_key(name)
            && version_of(name).is_some_and(|version| {
                let stable = Version { pre: Prerelease::EMPTY, ..version.clone() };
                !version.pre.is_empty() && self.files.contains_key(&file_name(&stable))
            })
    }

    /// Returns the highest published version with the base path of `of`, and the content of that
    /// version.
    pub fn newest(&self, of: &Document) -> Option<(Version, &[u8])> {
        let mut newest = self.newest_of_each_path();
        newest.remove(of.base_path)
    }

    pub fn newest_of_each_path(&self) -> BTreeMap<String, (Version, &[u8])> {
        let versions = self.versions().into_iter();
        versions.map(|newest| (format!("/v{}", newest.0.major), newest)).collect()
    }

    pub fn versions(&self) -> Vec<(Version, &[u8])> {
        let files = self.files.iter();
        let mut versions: Vec<_> =
            files.filter_map(|(name, bytes)| Some((version_of(name)?, bytes.as_slice()))).collect();
        versions.sort();
        versions
    }
}

pub fn file_name(version: &Version) -> String {
    format!("{version}.json")
}

/// Returns the version in a file name, or `None` if a published document cannot have this name.
pub fn version_of(file_name: &str) -> Option<Version> {
    version::parse(file_name.strip_suffix(".json")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::{V1, V2};

    #[test]
    fn the_newest_is_the_highest_version_not_the_last_name() {
        let files =
            ["1.9.0.json", "1.10.0.json", "2.0.0-beta.10.json", "2.0.0-beta.9.json", "x.json"];
        let files = files.map(|name| (name.to_string(), name.as_bytes().to_vec())).into();
        let published = Published { files };
        assert_eq!(published.newest(&V1).unwrap().1, b"1.10.0.json");
        assert_eq!(published.newest(&V2).unwrap().1, b"2.0.0-beta.10.json");
    }
}
