//! Tries the image: its files become the root directory of a process, as in a container, and
//! nothing else is there.

mod claims;
mod container;
mod database;
mod https;
mod image;

use crate::release::Release;
use crate::tools::output;
use anyhow::Context;
use claims::Claims;
use container::{Container, Isolation};
use image::Image;
use std::io::Write;
use std::process::Command;
use testbed::Program;
use testbed::postgres::Installed;

/// What a trial needs.
pub struct Needs {
    isolation: Isolation,
    postgres: Installed,
}

impl Needs {
    /// What is here of it; an error names what is missing.
    pub fn find() -> anyhow::Result<Needs> {
        Ok(Needs { isolation: Isolation::find()?, postgres: Installed::find()? })
    }
}

/// Tries a release; the exit status.
pub fn run(needs: &Needs, release: &Release, out: &mut dyn Write) -> anyhow::Result<u8> {
    writeln!(out, "Trying the image with {} …", needs.isolation)?;
    let mut claims = Claims { out, failed: false };
    unpack_archive(release, &mut claims)?;
    let image = Image::read(&release.image).context("the image cannot be read")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        https::run(&Container::create(&image, needs.isolation)?, &mut claims).await?;
        let container = Container::create(&image, needs.isolation)?;
        database::run(&container, &needs.postgres, &mut claims).await
    })?;
    Ok(claims.failed.into())
}

/// The archive unpacks as the README says, and its program runs.
fn unpack_archive(release: &Release, claims: &mut Claims<'_>) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let mut tar = Command::new("tar");
    tar.arg("--extract").arg("--file").arg(&release.archive).arg("--strip-components=1");
    output(tar.arg("--directory").arg(directory.path()))?;
    let version = Program::at(&directory.path().join("bin/store-orders")).run(&["--version"])?;
    let expected = format!("store-orders {}", env!("CARGO_PKG_VERSION"));
    let printed = version.success()?;
    claims.add("the program of the archive runs", printed.starts_with(&expected), || {
        printed.clone()
    })?;
    Ok(())
}
