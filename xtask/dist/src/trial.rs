//! Tries the image: its files become the root directory of a process, as in a container, and
//! nothing else is there.

mod claims;
mod container;
mod database;
mod https;
mod unpacked;

use crate::release::Release;
use anyhow::Context;
use claims::Claims;
use container::{Container, Isolation};
use std::io::Write;
use testbed::postgres::Installed;
use unpacked::Image;

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

/// Tries an image; the exit status.
pub fn run(needs: &Needs, release: &Release, out: &mut dyn Write) -> anyhow::Result<u8> {
    writeln!(out, "Trying the image with {} …", needs.isolation)?;
    let image = Image::read(&release.image).context("the image cannot be read")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut claims = Claims::new(out);
    runtime.block_on(async {
        https::run(&Container::create(&image, needs.isolation)?, &mut claims).await?;
        let container = Container::create(&image, needs.isolation)?;
        database::run(&container, &needs.postgres, &mut claims).await
    })?;
    Ok(claims.exit_code())
}
