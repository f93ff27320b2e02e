//! Builds the program and the files that come with it, and packs them in `target/dist`.

use crate::checkout::Checkout;
use crate::compose;
use crate::tools::output;
use anyhow::{Context, bail};
use serde_json::Value;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::{NamedTempFile, TempDir};
use testbed::Program;

/// Flags that link the C library statically. With `linux_getrandom`, the program links the function
/// `getrandom` too. Without this flag, a static program would not find the function at run time,
/// and would read /dev/urandom, which an empty root directory lacks.
const STATIC: [&str; 3] =
    ["-Ctarget-feature=+crt-static", "--cfg", "getrandom_backend=\"linux_getrandom\""];

const DOCUMENTS: &str = "share/doc/store-orders";

/// Commands of the program whose output becomes a file in the archive, each with the path of that
/// file.
const PRINTED: [(&[&str], &str); 9] = [
    (&["completions", "bash"], "share/bash-completion/completions/store-orders"),
    (&["completions", "fish"], "share/fish/vendor_completions.d/store-orders.fish"),
    (&["completions", "zsh"], "share/zsh/site-functions/_store-orders"),
    (&["systemd-unit"], "lib/systemd/system/store-orders.service"),
    (&["alerts"], "share/doc/store-orders/alerts.yaml"),
    (&["config", "default"], "share/doc/store-orders/store-orders.toml"),
    (&["dashboard"], "share/doc/store-orders/dashboard.json"),
    (&["nginx-conf"], "share/doc/store-orders/nginx.conf"),
    (&["openapi"], "share/doc/store-orders/openapi.json"),
];

/// The path of the C library's license on Debian and Ubuntu.
const LGPL: &str = "/usr/share/common-licenses/LGPL-2.1";

pub struct Release {
    pub archive: PathBuf,
    pub image: PathBuf,
}

pub fn make(checkout: &Checkout, out: &mut dyn Write) -> anyhow::Result<Release> {
    let (version, machine) = (env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
    if std::env::consts::OS != "linux" {
        bail!("a release is made on Linux");
    }
    let triple = format!("{machine}-unknown-linux-gnu");
    writeln!(out, "Building store-orders {version} for {triple} …")?;
    out.flush()?;
    // Download the crates of every platform, because cargo-about reads all of them and works
    // offline. A build would download only the crates of its own platform.
    output(checkout.command("cargo").args(["fetch", "--locked"]))?;
    let built = build(checkout, &triple)?;
    let program = Program::at(&built);
    let page = std::fs::read_to_string(checkout.root.join("src/handbook/containers.md"))?;
    compose::check(&page, &program, version)?;

    let directory = checkout.target_directory().join("dist");
    // Files of an earlier version must not look like a part of this release.
    if directory.exists() {
        std::fs::remove_dir_all(&directory)?;
    }
    std::fs::create_dir_all(&directory)?;
    let name = format!("store-orders-{version}-linux-{machine}");
    let file = |extension: &str| directory.join(format!("{name}.{extension}"));
    let (archive, image, sbom) = (file("tar.gz"), file("docker.tar.gz"), file("cdx.json"));
    std::fs::write(&sbom, software_bill(checkout, &triple)?)?;
    let context = TempDir::with_prefix_in("dist-", checkout.target_directory())?;
    let release = context.path().join("release");
    write_file(&release, "bin/store-orders", &std::fs::read(&built)?)?;
    set_mode(&release.join("bin/store-orders"), 0o755)?;
    write_file(&release, &format!("{DOCUMENTS}/store-orders.cdx.json"), &std::fs::read(&sbom)?)?;
    write_documents(checkout, &triple, &release, &program)?;
    pack(checkout, context.path(), &name, &archive)?;
    build_image(checkout, context.path(), version, &image)?;

    let mut sums = Command::new("sha256sum");
    let names = [&archive, &image, &sbom].map(|path| path.file_name().unwrap_or_default());
    let sums = output(sums.args(names).current_dir(&directory))?;
    std::fs::write(directory.join("SHA256SUMS"), sums)?;
    for path in [&archive, &image, &sbom, &directory.join("SHA256SUMS")] {
        writeln!(out, "  {} ({} KiB)", path.display(), std::fs::metadata(path)?.len() / 1024)?;
    }
    Ok(Release { archive, image })
}

/// Builds the release program and returns its path. The program contains the C library, but no
/// paths of this machine.
fn build(checkout: &Checkout, triple: &str) -> anyhow::Result<PathBuf> {
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo"));
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from).or(home).unwrap_or_default();
    let mut sources = Vec::new();
    for registry in std::fs::read_dir(home.join("registry/src")).into_iter().flatten() {
        sources.push((registry?.path(), "crates"));
    }
    sources.push((checkout.root.clone(), "."));
    let path_mappings = |flag: &str| -> Vec<String> {
        sources.iter().map(|(from, to)| format!("{flag}={}={to}", from.display())).collect()
    };
    let mut rust_flags = STATIC.map(str::to_string).to_vec();
    rust_flags.extend(path_mappings("--remap-path-prefix"));
    let mut cargo = checkout.command("cargo");
    cargo.args(["build", "--profile", "dist", "--locked", "--package", "store-orders"]);
    // Cargo applies RUSTFLAGS to procedural macros unless a target is set. Procedural macros cannot
    // be linked statically.
    cargo.args(["--target", triple]);
    cargo.env_remove("RUSTFLAGS").env("CARGO_ENCODED_RUSTFLAGS", rust_flags.join("\x1f"));
    let c_flags = format!("CFLAGS_{}", triple.replace('-', "_"));
    cargo.env(c_flags, path_mappings("-ffile-prefix-map").join(" "));
    if !cargo.status().context("cannot run cargo")?.success() {
        bail!("the server does not compile");
    }
    Ok(checkout.target_directory().join(triple).join("dist/store-orders"))
}

/// Writes the licenses, the documents, and the files that the program prints, such as man pages and
/// shell completions.
fn write_documents(
    checkout: &Checkout,
    triple: &str,
    release: &Path,
    program: &Program,
) -> anyhow::Result<()> {
    for (command, path) in PRINTED {
        write_file(release, path, program.run(command)?.success()?.as_bytes())?;
    }
    let man = release.join("share/man/man1");
    std::fs::create_dir_all(&man)?;
    let into = man.to_str().context("the target directory is not UTF-8")?;
    program.run(&["man", "--into", into])?.success()?;
    for document in ["LICENSE", "README.md", "CHANGELOG.md"] {
        write_file(
            release,
            &format!("{DOCUMENTS}/{document}"),
            &std::fs::read(checkout.root.join(document))?,
        )?;
    }
    let lgpl = std::fs::read_to_string(LGPL)
        .with_context(|| format!("cannot read {LGPL}, which the package base-files has"))?;
    let licences = licences(checkout, triple)? + &lgpl;
    write_file(release, &format!("{DOCUMENTS}/LICENSES-THIRD-PARTY.txt"), licences.as_bytes())
}

fn licences(checkout: &Checkout, triple: &str) -> anyhow::Result<String> {
    let config = NamedTempFile::with_suffix(".toml")?;
    std::fs::write(config.path(), about_config(&checkout.root)?)?;
    let mut about = checkout.command("cargo");
    about.args(["about", "generate", "--locked", "--offline", "--fail", "--target", triple]);
    about.arg("--config").arg(config.path()).args(["--manifest-path", "Cargo.toml"]);
    output(about.arg("xtask/dist/about.hbs"))
}

/// Returns the settings of `cargo about`, which accept the licenses that .cargo/deny.toml allows.
fn about_config(root: &Path) -> anyhow::Result<String> {
    let read = |name: &str| std::fs::read_to_string(root.join(name)).context(name.to_string());
    let (base, deny) = (read("xtask/dist/about.toml")?, read(".cargo/deny.toml")?);
    let allowed = deny.split_once("\nallow = [").and_then(|(_, rest)| rest.split_once(']'));
    let (allowed, _) = allowed.context(".cargo/deny.toml has no list of licences")?;
    Ok(format!("{base}accepted = [{allowed}]\n"))
}

/// Returns a CycloneDX document with the program's crates, but without the checkout's path.
fn software_bill(checkout: &Checkout, triple: &str) -> anyhow::Result<String> {
    let mut cyclonedx = checkout.command("cargo");
    cyclonedx.args(["cyclonedx", "--format", "json", "--spec-version", "1.5"]);
    cyclonedx.args(["--target", triple, "--override-filename", "store-orders-release.cdx"]);
    output(&mut cyclonedx)?;
    let name = "store-orders-release.cdx.json";
    let document = std::fs::read_to_string(checkout.root.join(name))?;
    // Remove the files of this name that cargo-cyclonedx has written for all packages.
    let mut metadata = checkout.command("cargo");
    metadata.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&output(&mut metadata)?)?;
    for package in metadata.get("packages").and_then(Value::as_array).into_iter().flatten() {
        let manifest = package.get("manifest_path").and_then(Value::as_str).unwrap_or_default();
        std::fs::remove_file(Path::new(manifest).with_file_name(name))?;
    }
    Ok(document.replace(&checkout.root.display().to_string(), ""))
}

/// Packs the archive. The archive has one directory, which contains the directories to copy into
/// /usr/local. Sorted names and fixed times and owners make the archive reproducible.
fn pack(checkout: &Checkout, context: &Path, name: &str, archive: &Path) -> anyhow::Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--create", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.args(["--mode=u=rwX,go=rX", &format!("--mtime=@{}", checkout.time)]);
    tar.args([&format!("--transform=s,^release,{name},"), "--use-compress-program=gzip -9n"]);
    output(tar.arg("--file").arg(archive).arg("--directory").arg(context).arg("release"))?;
    Ok(())
}

/// Builds the image as one file. Uses Docker's format, because OCI's format has no health check.
fn build_image(
    checkout: &Checkout,
    context: &Path,
    version: &str,
    image: &Path,
) -> anyhow::Result<()> {
    for (path, mode) in
        [("shared/tmp", 0o1777), ("shared/var/lib", 0o755), ("data/store-orders", 0o700)]
    {
        std::fs::create_dir_all(context.join(path))?;
        set_mode(&context.join(path), mode)?;
    }
    let storage = TempDir::new()?;
    let buildah = || {
        let mut buildah = checkout.command("buildah");
        buildah.args(["--storage-driver", "vfs"]);
        buildah.arg("--root").arg(storage.path().join("root"));
        buildah.arg("--runroot").arg(storage.path().join("run"));
        buildah
    };
    let tag = format!("store-orders:{version}");
    let mut build = buildah();
    build.args(["build", "--isolation", "chroot", "--format", "docker", "--tag", &tag]);
    build.args(["--timestamp", &checkout.time, "--file", "xtask/dist/Dockerfile"]);
    build.args(["--build-arg", &format!("VERSION={version}")]);
    build.args(["--build-arg", &format!("REVISION={}", checkout.commit)]);
    output(build.arg(context))?;
    let uncompressed = image.with_extension("");
    output(buildah().args([
        "push",
        &tag,
        &format!("docker-archive:{}:{tag}", uncompressed.display()),
    ]))?;
    output(Command::new("gzip").arg("-9n").arg(uncompressed))?;
    Ok(())
}

fn write_file(directory: &Path, name: &str, content: &[u8]) -> anyhow::Result<()> {
    let path = directory.join(name);
    std::fs::create_dir_all(path.parent().unwrap_or(directory))?;
    std::fs::write(path, content).with_context(|| format!("cannot write {name}"))
}

fn set_mode(path: &Path, mode: u32) -> anyhow::Result<()> {
    Ok(std::fs::set_permissions(path, PermissionsExt::from_mode(mode))?)
}
