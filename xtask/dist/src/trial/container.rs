//! Runs processes with the image's files as their root directory, and with the image's user and
//! environment variables. The processes share this machine's network.
//!
//! `unshare` starts the processes. bubblewrap and `buildah run` would not forward a SIGTERM to the
//! program.

use super::image::Image;
use anyhow::{Context, bail};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Arguments that let `unshare` run a process as the image's user in a different root directory.
pub type Isolation = &'static [&'static str];

/// The first needs root. The second works without root: a user namespace maps the current user to
/// the image's user.
const ISOLATIONS: [Isolation; 2] =
    [&["--setuid=65532", "--setgid=65532"], &["--user", "--map-user=65532", "--map-group=65532"]];

pub fn isolation() -> anyhow::Result<Isolation> {
    let works = |isolation: &Isolation| {
        let mut command = Command::new("unshare");
        command.args(*isolation).args(["--root=/", "/bin/true"]);
        command.output().is_ok_and(|output| output.status.success())
    };
    ISOLATIONS.into_iter().find(works).context(
        "a new root directory needs root, or user namespaces, and unshare (util-linux 2.38 or \
         later): run it as root, or on Ubuntu set \
         kernel.apparmor_restrict_unprivileged_userns to 0",
    )
}

/// The unpacked image. All commands in the container read and write the same files.
pub struct Container<'i> {
    pub image: &'i Image,
    isolation: Isolation,
    directory: TempDir,
}

impl Container<'_> {
    /// Unpacks the image into a temporary directory. Fails if the image's user is not 65532, the
    /// user in [`ISOLATIONS`].
    pub fn create(image: &Image, isolation: Isolation) -> anyhow::Result<Container<'_>> {
        if image.user != "65532:65532" {
            bail!("the image runs as {}", image.user);
        }
        let directory = tempfile::Builder::new().prefix("image-").tempdir()?;
        let root = directory.path().join("root");
        std::fs::create_dir(&root)?;
        image.unpack(&root)?;
        // Temporary directories are private, but the image's user must be able to enter them.
        for path in [directory.path(), &root] {
            std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        }
        Ok(Container { image, isolation, directory })
    }

    /// Converts a path in the container to the path of the same file on this machine.
    pub fn path(&self, inside: &str) -> PathBuf {
        self.directory.path().join("root").join(inside.trim_start_matches('/'))
    }

    pub fn log(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    /// Writes a file into the container. A container engine would mount the file.
    pub fn mount(&self, inside: &str, content: &str) -> anyhow::Result<()> {
        let path = self.path(inside);
        let parent = path.parent().context("a file is in a directory")?;
        std::fs::create_dir_all(parent)?;
        std::fs::write(&path, content)?;
        Ok(())
    }

    /// Returns a command that runs the image's program with `arguments` instead of the image's
    /// default arguments. Environment variables that the caller adds override those of the image.
    pub fn command(&self, arguments: &[&str]) -> anyhow::Result<Command> {
        let mut command = Command::new(unshare()?);
        command.args(self.isolation).arg("--root").arg(self.path("/"));
        let program = self.image.command.first().context("the image runs nothing")?;
        command.arg(program).args(arguments);
        command.env_clear().envs(self.image.environment.iter().cloned());
        Ok(command)
    }

    pub fn default_arguments(&self) -> Vec<&str> {
        self.image.command.iter().skip(1).map(String::as_str).collect()
    }

    pub fn run(&self, arguments: &[&str], input: &str) -> anyhow::Result<Output> {
        let mut command = self.command(arguments)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.as_bytes())?;
        }
        Ok(child.wait_with_output()?)
    }

    pub fn run_successfully(&self, arguments: &[&str], input: &str) -> anyhow::Result<String> {
        let output = self.run(arguments, input)?;
        if !output.status.success() {
            bail!("store-orders {}: {}", arguments.join(" "), describe(&output));
        }
        Ok(String::from_utf8(output.stdout)?)
    }
}

/// Returns the path of `unshare` on this machine. [`Container::command`] needs the full path,
/// because the command's `PATH` is that of the image.
fn unshare() -> anyhow::Result<PathBuf> {
    let directories = std::env::var_os("PATH").unwrap_or_default();
    let mut paths = std::env::split_paths(&directories).map(|path| path.join("unshare"));
    paths.find(|path| Path::is_file(path)).context("unshare is missing")
}

pub fn describe(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    format!("{}: {}", output.status, error.trim())
}
