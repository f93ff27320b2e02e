//! A process with the files of the image as its root directory, its user and its
//! environment. It shares the network with this machine, which a container does not.

use super::image::Image;
use anyhow::{Context, bail};
use rustix::process::geteuid;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// How a process gets another root directory and another user.
#[derive(Clone, Copy, Debug)]
pub enum Isolation {
    /// chroot, as root.
    Chroot,
    /// A user namespace, in which this user has the number of the image's.
    UserNamespace,
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Isolation::Chroot => "chroot",
            Isolation::UserNamespace => "a user namespace",
        })
    }
}

impl Isolation {
    /// What works here.
    pub fn find() -> anyhow::Result<Isolation> {
        let works = |program: &str, arguments: &[&str]| {
            let mut command = Command::new(program);
            command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        if geteuid().is_root() && works("chroot", &["/", "/bin/true"]) {
            return Ok(Isolation::Chroot);
        }
        let maps = ["--user", "--map-user=65532", "--map-group=65532", "--root=/", "/bin/true"];
        if works("unshare", &maps) {
            return Ok(Isolation::UserNamespace);
        }
        bail!(
            "a new root directory needs root with chroot (coreutils), or user namespaces with \
             unshare (util-linux 2.38 or later): run it as root, or on Ubuntu set \
             kernel.apparmor_restrict_unprivileged_userns to 0"
        )
    }
}

/// A container that runs one command after another.
pub struct Container {
    /// The image's health check.
    pub health: Vec<String>,
    isolation: Isolation,
    directory: TempDir,
    command: Vec<String>,
    environment: Vec<(String, String)>,
    /// User and group.
    user: String,
}

impl Container {
    /// Unpacks the image below a temporary directory.
    pub fn create(image: &Image, isolation: Isolation) -> anyhow::Result<Container> {
        let directory = tempfile::Builder::new().prefix("image-").tempdir()?;
        let root = directory.path().join("root");
        std::fs::create_dir(&root)?;
        image.unpack(&root)?;
        // The user must get through, to its own root directory.
        for path in [directory.path(), &root] {
            std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        }
        let (command, environment, user) =
            (image.command.clone(), image.environment.clone(), image.user.clone());
        let health = image.health.clone();
        Ok(Container { health, isolation, directory, command, environment, user })
    }

    /// A path of this machine for one of the container.
    pub fn path(&self, inside: &str) -> PathBuf {
        self.directory.path().join("root").join(inside.trim_start_matches('/'))
    }

    /// Where the log of its server is.
    pub fn log(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    /// Puts a file there, as a mount does.
    pub fn mount(&self, inside: &str, content: &str) -> anyhow::Result<()> {
        let path = self.path(inside);
        let parent = path.parent().context("a file is in a directory")?;
        std::fs::create_dir_all(parent)?;
        std::fs::write(&path, content)?;
        Ok(())
    }

    /// The program with these arguments instead of the image's own; what is added to its
    /// environment overrides the image's.
    pub fn command(&self, arguments: &[&str]) -> anyhow::Result<Command> {
        let root = self.path("/");
        let (user, group) = self.user.split_once(':').context("the user has no group")?;
        let mut command = match self.isolation {
            Isolation::Chroot => {
                let mut chroot = Command::new(found("chroot")?);
                chroot.arg(format!("--userspec={user}:{group}")).arg("--groups=").arg(root);
                chroot
            }
            Isolation::UserNamespace => {
                let mut unshare = Command::new(found("unshare")?);
                unshare.args(["--user", &format!("--map-user={user}")]);
                unshare.arg(format!("--map-group={group}")).arg("--root").arg(root);
                unshare
            }
        };
        let program = self.command.first().context("the image runs nothing")?;
        command.arg(program).args(arguments).env_clear().envs(self.environment.iter().cloned());
        Ok(command)
    }

    /// What the image runs without further arguments.
    pub fn default_arguments(&self) -> Vec<&str> {
        self.command.iter().skip(1).map(String::as_str).collect()
    }

    /// Runs the program with this standard input until it exits.
    pub fn run(&self, arguments: &[&str], input: &str) -> anyhow::Result<Output> {
        let mut command = self.command(arguments)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.as_bytes())?;
        }
        Ok(child.wait_with_output()?)
    }

    /// Runs a command that must succeed; its standard output.
    pub fn done(&self, arguments: &[&str], input: &str) -> anyhow::Result<String> {
        let output = self.run(arguments, input)?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            bail!("store-orders {}: {}", arguments.join(" "), error.trim());
        }
        Ok(String::from_utf8(output.stdout)?)
    }
}

/// A program by its path, because the environment is the container's.
fn found(name: &str) -> anyhow::Result<PathBuf> {
    let directories = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let mut paths = std::env::split_paths(&directories).chain(more).map(|path| path.join(name));
    paths.find(|path| Path::is_file(path)).with_context(|| format!("{name} is missing"))
}
