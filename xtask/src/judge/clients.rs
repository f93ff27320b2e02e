//! Clients that other generators make from the document, against the live
//! server: they list and cancel orders, and provoke every documented error.

use super::server::{LARGE, LiveServer, MISSING, PENDING, SHIPPED};
use super::setup::Setup;
use super::tools::output_lines;
use std::fs;
use std::process::Command;

/// openapi-typescript generates the types, openapi-fetch sends, `tsc --strict`
/// checks the session against the types.
pub(super) fn typescript(setup: &Setup) -> anyhow::Result<Vec<String>> {
    let tools = &setup.tools;
    let directory = tools.copy_typescript("typescript")?;
    let mut generate = tools.node("openapi-typescript");
    generate.arg(setup.document()).arg("--output").arg(directory.join("api.d.ts"));
    let mut compile = tools.compile_typescript(&directory);
    let mut session = tools.command("node");
    session.arg(directory.join("built/session.js"));
    run_session(setup, [&mut generate, &mut compile], &mut session)
}

/// openapi-python-client generates the client, `mypy --strict` checks the session
/// against its types.
pub(super) fn python(setup: &Setup) -> anyhow::Result<Vec<String>> {
    let tools = &setup.tools;
    let directory = tools.installed("python");
    fs::create_dir_all(&directory)?;
    let session_file = directory.join("session.py");
    fs::copy(tools.source("python/session.py"), &session_file)?;
    let mut generate = tools.python("openapi-python-client");
    generate.arg("generate").arg("--path").arg(setup.document());
    generate.args(["--meta", "none", "--overwrite", "--fail-on-warning", "--config"]);
    generate.arg(tools.source("python/generator.yaml"));
    generate.arg("--output-path").arg(directory.join("orders_client"));
    let mut check = tools.python("mypy");
    // Strict for the session, not for the generated code.
    check.args(["--strict", "--follow-imports=silent"]).arg(&session_file).current_dir(&directory);
    let mut session = tools.python("python");
    session.arg(&session_file);
    run_session(setup, [&mut generate, &mut check], &mut session)
}

/// Prepares the session, then runs it against a server of its own.
fn run_session(
    setup: &Setup,
    preparation: [&mut Command; 2],
    session: &mut Command,
) -> anyhow::Result<Vec<String>> {
    for command in preparation {
        let lines = output_lines(command)?;
        if !lines.is_empty() {
            return Ok(lines);
        }
    }
    let server = LiveServer::start(&setup.program)?;
    let (key, limited) = (server.key("roomy", 1_000)?, server.key("limited", 1)?);
    // One character longer than any key.
    let wrong = format!("{key}x");
    session.env("BASE_URL", server.base_url()).env("KEY", &key).env("LIMITED_KEY", &limited);
    session.env("WRONG_KEY", &wrong);
    let ids = [("PENDING", PENDING), ("SHIPPED", SHIPPED), ("MISSING", MISSING), ("LARGE", LARGE)];
    for (name, id) in ids {
        session.env(name, id.to_string());
    }
    Ok(server.with_log(output_lines(session)?, &[&key, &limited]))
}
