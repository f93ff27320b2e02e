//! A release: what it is made of, and its files in `target/dist`.

use crate::archive::{Entry, gzip, sha256, tar};
use crate::checkout::Checkout;
use crate::parts::Parts;
use crate::target::Target;
use crate::{compose, crates, elf, image, licences, papers, sbom};
use anyhow::Context;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use testbed::Program;

/// The files of a release.
pub struct Release {
    /// The image.
    pub image: PathBuf,
}

/// Builds the program and writes the release.
pub fn make(checkout: &Checkout, out: &mut dyn Write) -> anyhow::Result<Release> {
    let target = Target::here()?;
    let crates = crates::linked(checkout, target)?;
    let own = crates.iter().find(|one| one.id.0 == crates::PROGRAM);
    let version = own.context("cargo does not know the program")?.id.1.clone();
    writeln!(out, "Building store-orders {version} for {} …", target.triple)?;
    out.flush()?;
    let built = elf::build(checkout, target, &crates)?;
    let program = Program::at(&built);
    let runtimes = licences::runtimes()?;
    compose::check(
        &String::from_utf8(checkout.read("src/handbook/containers.md")?)?,
        &program,
        &version,
    )?;
    let parts = Parts {
        program: std::fs::read(&built)?,
        licence: checkout.read("LICENSE")?,
        licences: licences::text(checkout, &crates, &runtimes)?,
        version,
        target,
    };
    let sbom = sbom::document(checkout, &crates, &runtimes)?;
    let sbom = serde_json::to_string_pretty(&sbom)? + "\n";

    let name = format!("store-orders-{}-{}", parts.version, target.name);
    let archive = archive(checkout, &parts, &program, &sbom, &name)?;
    let files = [
        (format!("{name}.tar.gz"), archive),
        (format!("{name}.oci.tar"), image::oci_archive(checkout, &parts)?),
        (format!("{name}.cdx.json"), sbom.into_bytes()),
    ];
    let directory = checkout.dist_directory();
    // What an earlier version left would be taken for a part of this one.
    if directory.exists() {
        std::fs::remove_dir_all(&directory)?;
    }
    std::fs::create_dir_all(&directory)?;
    let mut sums = String::new();
    for (name, content) in &files {
        sums.push_str(&format!("{}  {name}\n", sha256(content)));
        write_file(&directory.join(name), content, out)?;
    }
    write_file(&directory.join("SHA256SUMS"), sums.as_bytes(), out)?;
    Ok(Release { image: directory.join(format!("{name}.oci.tar")) })
}

fn write_file(path: &Path, content: &[u8], out: &mut dyn Write) -> anyhow::Result<()> {
    std::fs::write(path, content)?;
    #[expect(clippy::cast_precision_loss, reason = "one digit after the point is shown")]
    let mib = content.len() as f64 / 1_048_576.0;
    Ok(writeln!(out, "  {} ({mib:.1} MiB)", path.display())?)
}

/// The archive: one directory with the name of the release, below it those of /usr/local.
fn archive(
    checkout: &Checkout,
    parts: &Parts,
    program: &Program,
    sbom: &str,
    name: &str,
) -> anyhow::Result<Vec<u8>> {
    let document = |name: &str| format!("share/doc/store-orders/{name}");
    let mut files = papers::printed(program)?;
    files.push(Entry::program("bin/store-orders", parts.program.clone()));
    files.push(Entry::file(document("LICENSE"), parts.licence.clone()));
    files.push(Entry::file(document("LICENSES-THIRD-PARTY.txt"), parts.licences.clone()));
    files.push(Entry::file(document("store-orders.cdx.json"), sbom));
    for own in ["README.md", "CHANGELOG.md"] {
        files.push(Entry::file(document(own), checkout.read(own)?));
    }
    for file in &mut files {
        file.path = format!("{name}/{}", file.path);
    }
    let directories: BTreeSet<String> = files.iter().flat_map(|file| above(&file.path)).collect();
    files.extend(directories.into_iter().map(Entry::directory));
    files.sort_by(|one, other| one.path.cmp(&other.path));
    gzip(&tar(&files, checkout.time)?)
}

/// The directories above a path, each with a slash at its end.
fn above(path: &str) -> impl Iterator<Item = String> {
    path.match_indices('/').filter_map(|(at, _)| path.get(..=at)).map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directories_above_a_file_are_known() {
        assert_eq!(above("a/b/c").collect::<Vec<_>>(), ["a/", "a/b/"]);
    }
}
