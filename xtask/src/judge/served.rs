//! The document as servers serve it, with and without the settings of an operator, before
//! the tools that read the checked-in one; and a client that is generated from a live server.

use super::documents;
use super::page::page;
use super::server::LiveServer;
use super::setup::Setup;
use super::tools::output_lines;
use crate::documents::DOCUMENTS;
use testbed::free_address;

/// Settings of an operator.
const SETTINGS: [&str; 10] = [
    "--production-url",
    "https://orders.pets.test/v1",
    "--staging-url",
    "https://orders.staging.pets.test/v1",
    "--contact-name",
    "Pets",
    "--contact-url",
    "https://pets.test/support",
    "--contact-email",
    "support@pets.test",
];

/// The flags of a server, and Spectral's rules for what it serves.
const SERVED: [(&[&str], &str); 4] = [
    (&[], "spectral-served.yaml"),
    (&SETTINGS, "spectral.yaml"),
    (&["--production-url", "https://orders.pets.test/v1"], "spectral-served.yaml"),
    (&["--environment", "staging", "--contact-name", "Pets"], "spectral-served.yaml"),
];

/// What the tools find in what live servers serve, and whether `openapi --served` prints it.
pub(super) fn served(setup: &Setup) -> anyhow::Result<Vec<String>> {
    let mut findings = Vec::new();
    for (flags, rules) in SERVED {
        let server = LiveServer::start_with(&setup.program, flags)?;
        let (mut found, mut files) = (Vec::new(), Vec::new());
        for of in DOCUMENTS {
            let (_, served) = page(server.address(), of.path)?;
            let version: &[&str] = if of.is_beta { &["--beta"] } else { &[] };
            let command = [&["openapi", "--served"], version, flags].concat();
            if served != setup.program.run(&command)?.success()? {
                found.push(format!("`openapi --served` prints another {}", of.path));
            }
            let file = server.directory().join(of.path.trim_start_matches('/'));
            std::fs::write(&file, served)?;
            files.push(file);
        }
        found.extend(documents::findings(setup, rules, &files)?);
        if !found.is_empty() {
            findings.push(format!("served with {flags:?}:"));
            findings.append(&mut found);
        }
    }
    Ok(findings)
}

/// @hey-api/openapi-ts generates a client from the document of a live server that knows its
/// address; the client of each version lists orders there without another setting.
pub(super) fn client(setup: &Setup) -> anyhow::Result<Vec<String>> {
    // The server's own address is a setting, so the port must be known before it starts.
    let address = free_address()?.to_string();
    let url = format!("http://{address}/v1");
    let flags = ["--listen", &address, "--production-url", &url];
    let server = LiveServer::start_with(&setup.program, &flags)?;
    let key = server.key("generated", 1_000)?;
    let tools = &setup.tools;
    let directory = tools.copy_typescript("served")?;
    let configuration = directory.join("generator.mjs");
    std::fs::copy(tools.source("served/generator.mjs"), &configuration)?;
    let mut generate = tools.node("openapi-ts");
    generate.current_dir(&directory).arg("--file").arg(&configuration).arg("--silent");
    generate.env("ORIGIN", server.origin());
    let mut compile = tools.compile_typescript(&directory);
    let mut session = tools.command("node");
    session.arg(directory.join("built/session.js")).env("KEY", &key);
    for command in [&mut generate, &mut compile, &mut session] {
        let lines = output_lines(command)?;
        if !lines.is_empty() {
            return Ok(server.with_log(lines, &[&key]));
        }
    }
    Ok(Vec::new())
}
