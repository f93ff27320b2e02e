//! `cargo xtask published-clients`: the Rust client, generated from the oldest and from the newest
//! published document of each version, against today's server.

use crate::Outcome;
use crate::canonical_json;
use crate::documents::DOCUMENTS;
use crate::generate::client_code;
use crate::judge::run_against_server;
use crate::published::{PUBLISHED, Published, file_name};
use crate::report::Report;
use crate::repository::{CLIENT_CODE, CLIENTS, Repository};
use anyhow::{Context, bail};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use testbed::Program;

const SESSION: &str = include_str!("published_clients/session.rs");

/// The packages, besides the session's: the client as it would have been at the first and at the
/// last publication.
const AGES: [&str; 2] = ["oldest", "newest"];

/// Generates and compiles the clients, and runs the session.
pub fn run(repository: &Repository, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let program = Program::build(repository.root())?;
    let directory = repository.root().join("target/published-clients");
    let names = write_packages(repository, &directory)?;
    let mut report = Report::new(out);
    let claim = format!("clients of {} list, cancel, page and meet errors today", names.join(", "));
    report.add(&claim, &compile_and_run(repository, &directory, &program))?;
    Ok(report.finish("sessions")?)
}

fn compile_and_run(
    repository: &Repository,
    directory: &Path,
    program: &Program,
) -> anyhow::Result<Vec<String>> {
    let target = repository.root().join("target");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--package", "session"]).current_dir(directory);
    let built = build.env("CARGO_TARGET_DIR", &target).output().context("cannot run cargo")?;
    if !built.status.success() {
        let error = String::from_utf8_lossy(&built.stderr).into_owned();
        return Ok(error.lines().map(str::to_string).collect());
    }
    let mut session = Command::new(target.join("debug/session"));
    run_against_server(program, session.env("RUST_BACKTRACE", "0"))
}

/// Writes a workspace of the clients and the session. The names of the documents.
fn write_packages(repository: &Repository, directory: &Path) -> anyhow::Result<Vec<String>> {
    let published = Published::read(repository)?;
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let mut names = Vec::new();
    for age in AGES {
        let (of_age, documents) = documents(&published, age)?;
        names.extend(of_age);
        write_client(repository, &documents, age, &directory.join(age))?;
    }
    let session = Package { directory: directory.join("session") };
    session.write("src/main.rs", SESSION)?;
    session.write("Cargo.toml", &session_manifest())?;
    let workspace = Package { directory: directory.to_path_buf() };
    workspace.write("Cargo.toml", &workspace_manifest(&repository.read("Cargo.toml")?)?)?;
    // The same versions, so that most is compiled already.
    workspace.write("Cargo.lock", &repository.read("Cargo.lock")?)?;
    names.dedup();
    Ok(names)
}

/// The names and contents of the published documents of this age, one of each version.
fn documents(published: &Published, age: &str) -> anyhow::Result<(Vec<String>, Vec<Value>)> {
    let mut found = (Vec::new(), Vec::new());
    for of in DOCUMENTS {
        let versions = published.versions().into_iter();
        let mut own =
            versions.filter(|(version, _)| of.base_path == format!("/v{}", version.major));
        let one = if age == "oldest" { own.next() } else { own.next_back() };
        let Some((version, bytes)) = one else { bail!("of {} nothing is published", of.file) };
        let name = file_name(&version);
        let text = std::str::from_utf8(bytes)
            .with_context(|| format!("{PUBLISHED}/{name} is not UTF-8"))?;
        found.1.push(canonical_json::parse(&name, text)?);
        found.0.push(name);
    }
    Ok(found)
}

/// Writes the client's package with what these documents generate.
fn write_client(
    repository: &Repository,
    documents: &[Value],
    name: &str,
    directory: &Path,
) -> anyhow::Result<()> {
    let package = Package { directory: directory.to_path_buf() };
    let generated = CLIENTS.each_ref().map(|client| client.module);
    copy_sources(&repository.root().join(CLIENT_CODE), &directory.join("src"), &generated)?;
    for file in client_code(documents)? {
        let below = file.name.strip_prefix(CLIENT_CODE).unwrap_or(&file.name);
        package.write(&format!("src/{}", below.trim_start_matches('/')), &file.text)?;
    }
    let manifest = repository.read("api/client/Cargo.toml")?;
    let own = "name = \"store-orders-client\"";
    package.write("Cargo.toml", &manifest.replace(own, &format!("name = \"{name}\"")))?;
    package.write("README.md", &repository.read("api/client/README.md")?)
}

/// Copies the files by hand: all but those of the generated modules.
fn copy_sources(from: &Path, to: &Path, generated: &[&str]) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let path = entry.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        if generated.contains(&stem.as_ref()) {
            continue;
        }
        let to = to.join(entry.file_name());
        if path.is_dir() {
            copy_sources(&path, &to, &[])?;
        } else {
            fs::copy(&path, &to)?;
        }
    }
    Ok(())
}

/// A package under `target`.
struct Package {
    directory: PathBuf,
}

impl Package {
    fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let path = self.directory.join(name);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

fn session_manifest() -> String {
    let of_age = |age| format!("{age} = {{ path = \"../{age}\", features = [\"v2-beta\"] }}\n");
    format!(
        "[package]\nname = \"session\"\nedition.workspace = true\npublish = false\n\n\
         [dependencies]\n{}tokio = {{ workspace = true, features = [\"macros\", \"rt\"] }}\n",
        AGES.map(of_age).concat()
    )
}

/// The members, and all that members take from the manifest of this repository.
fn workspace_manifest(own: &str) -> anyhow::Result<String> {
    let shared = own.find("[workspace.package]").context("Cargo.toml has no workspace.package")?;
    let members = AGES.map(|age| format!("\"{age}\", ")).concat();
    let shared = own.get(shared..).unwrap_or_default();
    Ok(format!("[workspace]\nresolver = \"3\"\nmembers = [{members}\"session\"]\n\n{shared}"))
}
