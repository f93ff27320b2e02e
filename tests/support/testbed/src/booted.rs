//! Boots this machine's distribution with systemd in a container, and runs commands there. Needs
//! root or sudo, and systemd-nspawn. The build of the image also needs debootstrap and apt.

use crate::child_process::{ChildProcess, output};
use crate::mounts::as_root;
use crate::transcript::{Console, Shell};
use crate::wait::{WAIT_TIMEOUT, wait_blocking};
use anyhow::{Context, bail, ensure};
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The packages of the image: systemd, and the programs that the handbook's console sessions run in
/// the container.
const PACKAGES: &str = "systemd,systemd-sysv,dbus,ca-certificates,curl,nginx-light,openssl,procps,\
                        prometheus,prometheus-alertmanager,sqlite3";

/// A booted container without a network. Changes to its files are kept in memory and do not reach
/// the image. Dropping this value ends all processes of the container.
pub struct Booted {
    _nspawn: ChildProcess,
    /// The process id that the container's systemd has outside the container.
    leader: u32,
}

/// The file in each image that records `PACKAGES` as of the build.
const PACKAGES_FILE: &str = "packages";

/// Locked while an image is checked or built, so that concurrent tests do not build it twice.
static IMAGE: Mutex<()> = Mutex::new(());

/// The number of containers that this process has begun to boot. This number makes the containers'
/// names unique.
static BOOTED: AtomicU32 = AtomicU32::new(0);

impl Booted {
    /// Boots the image in this directory. If the image is missing or was built from other packages,
    /// first builds it, which takes minutes. Fails if a unit of the container fails.
    pub fn boot(image: &Path) -> anyhow::Result<Booted> {
        {
            let _one_at_a_time = IMAGE.lock();
            let built_from = std::fs::read_to_string(image.join(PACKAGES_FILE));
            if !built_from.is_ok_and(|packages| packages == PACKAGES) {
                build_image(image)?;
            }
        }
        let number = BOOTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("store-orders-{}-{number}", std::process::id());
        let mut nspawn = as_root("systemd-nspawn");
        nspawn.arg("--directory").arg(image).arg(format!("--machine={name}"));
        nspawn.args(["--boot", "--quiet", "--volatile=overlay", "--private-network"]);
        nspawn.args(["--console=pipe", "--register=no"]);
        if !Path::new("/run/systemd/system").exists() {
            // Without systemd on this machine, nothing can create a scope for the container, so
            // leave it in the current unit.
            nspawn.arg("--keep-unit");
        }
        nspawn.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child =
            nspawn.spawn().with_context(|| missing("systemd-nspawn", "systemd-container"))?;
        let (pid, nspawn) = (child.id(), ChildProcess::new(child, "systemd-nspawn"));
        let leader = wait_blocking("the container boots", WAIT_TIMEOUT, || first_process(pid))?;
        let booted = Booted { _nspawn: nspawn, leader };
        let booted_state = || {
            let state = booted.run("systemctl is-system-running; true").ok()?;
            ["running", "degraded"].contains(&state.trim()).then_some(state)
        };
        let state = wait_blocking("the container has booted", WAIT_TIMEOUT, booted_state)?;
        if state.trim() != "running" {
            bail!("units of the container failed: {}", booted.run("systemctl --failed --plain")?);
        }
        Ok(booted)
    }

    pub fn write(&self, file: &str, content: impl AsRef<[u8]>) -> anyhow::Result<()> {
        let write = format!("mkdir -p \"$(dirname {file})\" && cat > {file}");
        self.run_with_input(&write, content.as_ref()).map(drop)
    }

    /// Runs a command with `sh -c` in the container, and returns the command's standard output.
    pub fn run(&self, command: &str) -> anyhow::Result<String> {
        self.run_with_input(command, b"")
    }

    fn run_with_input(&self, command: &str, input: &[u8]) -> anyhow::Result<String> {
        let done = output(self.enter("sh").arg("-c").arg(command), input)?;
        let (out, error) =
            (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        ensure!(done.status.success(), "{command}: {}: {out}{error}", done.status);
        Ok(out.into_owned())
    }

    /// Runs a document's console session in root's home directory. Asserts that the commands print
    /// what the document shows.
    #[track_caller]
    pub fn console(&self, console: &Console<'_>) {
        Shell { command: self.enter("sh"), errors: PathBuf::from("/tmp/errors") }.check(console);
    }

    /// Prepares a command that runs as root in the container.
    fn enter(&self, program: &str) -> Command {
        let mut command = as_root("nsenter");
        command.args(["--target", &self.leader.to_string(), "--all", "--"]);
        // Set the environment with `env` inside the container, because sudo may change an
        // environment that is set outside.
        let path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        command.args(["env", "--ignore-environment", "--chdir=/root", "HOME=/root", "LC_ALL=C"]);
        command.args([path, program]);
        command
    }
}

impl Drop for Booted {
    fn drop(&mut self) {
        // Ignore the error, because the end of the container may interrupt the command. Do not send
        // a signal instead, because this process may lack the permission.
        let _ = self.run("systemctl poweroff --force --force");
    }
}

/// Searches the descendants of `parent` for the process that has PID 1 in the container. Returns
/// `None` if that process has not started yet.
fn first_process(parent: u32) -> Option<u32> {
    let children =
        std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
    children.split_whitespace().filter_map(|pid| pid.parse().ok()).find_map(|pid: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
        let is_first = ids.split_whitespace().nth(1) == Some("1");
        if is_first { Some(pid) } else { first_process(pid) }
    })
}

/// Installs this machine's distribution into a new image, from the mirror that apt uses.
fn build_image(image: &Path) -> anyhow::Result<()> {
    let unfinished = image.with_extension("unfinished");
    let release = std::fs::read_to_string("/etc/os-release").context("this is not Linux")?;
    let codename = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let codename = codename.context("/etc/os-release has no VERSION_CODENAME")?.trim_matches('"');
    let mirror = mirror_of(codename)?;
    let remove = as_root("rm").arg("-rf").arg(&unfinished).arg(image).status()?;
    ensure!(remove.success(), "{} cannot be removed", image.display());
    std::fs::create_dir_all(image.parent().context("an image is in a directory")?)?;
    let mut debootstrap = as_root("debootstrap");
    debootstrap.args(["--variant=minbase", &format!("--include={PACKAGES}"), codename]);
    debootstrap.arg(&unfinished).arg(mirror);
    let built = debootstrap.output().with_context(|| missing("debootstrap", "debootstrap"))?;
    if !built.status.success() {
        let log = String::from_utf8_lossy(&built.stdout);
        bail!("debootstrap failed: {}", log.lines().last().unwrap_or_default());
    }
    let packages = unfinished.join(PACKAGES_FILE);
    let noted = output(as_root("tee").arg(&packages), PACKAGES.as_bytes())?;
    ensure!(noted.status.success(), "{} cannot be written", packages.display());
    let named = as_root("mv").arg("--no-target-directory").arg(&unfinished).arg(image).status()?;
    ensure!(named.success(), "{} cannot be renamed", unfinished.display());
    Ok(())
}

/// Returns the URL from which this machine's apt gets the packages of the system release
/// `codename`.
fn mirror_of(codename: &str) -> anyhow::Result<String> {
    let format = "$(CODENAME) $(COMPONENT) $(REPO_URI)";
    let mut targets = Command::new("apt-get");
    targets.args(["indextargets", "--format", format, "Created-By: Packages"]);
    let targets = output(&mut targets, b"").context("this machine has no apt")?;
    let targets = String::from_utf8_lossy(&targets.stdout).into_owned();
    let mirror = targets.lines().find_map(|line| line.strip_prefix(&format!("{codename} main ")));
    let fix = "apt-get update";
    Ok(mirror.with_context(|| format!("apt knows no mirror of {codename}; {fix}"))?.to_string())
}

fn missing(program: &str, package: &str) -> String {
    format!("{program} is missing; on Debian and Ubuntu: apt-get install {package}")
}
