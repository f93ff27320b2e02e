//! Tests the archive and the image of a release. The image's files become the root directory of a
//! process, so a missing file fails the tests.

mod container;
mod database;
mod https;
mod image;

use crate::release::Release;
use crate::tools::output;
use anyhow::{Context, ensure};
use container::{Container, Isolation};
use image::Image;
use std::io::Write;
use std::process::Command;
use testbed::Program;
use testbed::postgres::Installed;

/// The tools that a trial needs. `main` finds them before the build, because a late failure would
/// waste minutes.
pub struct Needs {
    isolation: Isolation,
    postgres: Installed,
}

impl Needs {
    pub fn find() -> anyhow::Result<Needs> {
        Ok(Needs { isolation: container::isolation()?, postgres: Installed::find()? })
    }
}

/// The writer to which each result is printed as soon as it is known.
type Out<'o> = &'o mut dyn Write;

pub fn run(needs: &Needs, release: &Release, out: Out<'_>) -> anyhow::Result<u8> {
    writeln!(out, "Trying the image with unshare {} …", needs.isolation.join(" "))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        unpack_archive(release, out)?;
        let image = Image::read(&release.image).context("the image cannot be read")?;
        https::run(&Container::create(&image, needs.isolation)?, out).await?;
        database::run(&Container::create(&image, needs.isolation)?, &needs.postgres, out).await
    });
    if let Err(error) = &result {
        writeln!(out, "✗ {error:#}")?;
    }
    Ok(result.is_err().into())
}

fn claim(out: Out<'_>, claim: &str, holds: bool, otherwise: &str) -> anyhow::Result<()> {
    ensure!(holds, "{claim}\n  {otherwise}");
    writeln!(out, "✓ {claim}")?;
    Ok(out.flush()?)
}

fn unpack_archive(release: &Release, out: Out<'_>) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let mut tar = Command::new("tar");
    tar.arg("--extract").arg("--file").arg(&release.archive).arg("--strip-components=1");
    output(tar.arg("--directory").arg(directory.path()))?;
    let version = Program::at(&directory.path().join("bin/store-orders")).run(&["--version"])?;
    let expected = format!("store-orders {}", env!("CARGO_PKG_VERSION"));
    let printed = version.success()?;
    claim(out, "the program of the archive runs", printed.starts_with(&expected), &printed)
}
