//! Runs two programs with generated clients against a live server, one in TypeScript and one in
//! Python. Each program, here called a session, lists and cancels orders, and provokes 401, 404,
//! 409 and 429 responses.

use super::server::{LiveServer, MISSING, PENDING, SHIPPED};
use super::setup::Setup;
use super::tools::output_lines;
use crate::documents::{DOCUMENTS, V2};
use std::fs;
use std::process::Command;
use testbed::Program;

/// Runs the TypeScript session: openapi-typescript generates the types, `tsc --strict` checks the
/// session against them, and openapi-fetch sends the requests.
pub(super) fn typescript(setup: &Setup) -> anyhow::Result<Vec<String>> {
    let tools = &setup.tools;
    let directory = tools.copy_typescript("typescript")?;
    let mut preparation = Vec::new();
    for of in DOCUMENTS {
        let mut generate = tools.node("openapi-typescript");
        let types = format!("api{}.d.ts", of.base_path.replace('/', "-"));
        generate.arg(setup.document(of)).arg("--output").arg(directory.join(types));
        preparation.push(generate);
    }
    preparation.push(tools.compile_typescript(&directory));
    let mut session = tools.command("node");
    session.arg(directory.join("built/session.js"));
    run_session(setup, preparation, &mut session)
}

/// Runs the Python session. openapi-python-client generates the client, and `mypy --strict` checks
/// the session against the client's types.
pub(super) fn python(setup: &Setup) -> anyhow::Result<Vec<String>> {
    let tools = &setup.tools;
    let directory = tools.installed("python");
    fs::create_dir_all(&directory)?;
    let session_file = directory.join("session.py");
    fs::copy(tools.source("python/session.py"), &session_file)?;
    let mut preparation = Vec::new();
    for of in DOCUMENTS {
        let mut generate = tools.python("openapi-python-client");
        let package = format!("orders_client{}", of.base_path.replace('/', "_"));
        generate.arg("generate").arg("--path").arg(setup.document(of));
        generate.args(["--meta", "none", "--overwrite", "--fail-on-warning", "--config"]);
        generate.arg(tools.source("python/generator.yaml"));
        generate.arg("--output-path").arg(directory.join(package));
        preparation.push(generate);
    }
    let mut check = tools.python("mypy");
    // With `--follow-imports=silent`, mypy reports errors in the session's file, but not in the
    // generated code.
    check.args(["--strict", "--follow-imports=silent"]).arg(&session_file).current_dir(&directory);
    preparation.push(check);
    let mut session = tools.python("python");
    session.arg(&session_file);
    run_session(setup, preparation, &mut session)
}

/// Returns the output of the first command that fails, or no lines if all commands succeed.
fn run_session(
    setup: &Setup,
    preparation: Vec<Command>,
    session: &mut Command,
) -> anyhow::Result<Vec<String>> {
    for mut command in preparation {
        let lines = output_lines(&mut command)?;
        if !lines.is_empty() {
            return Ok(lines);
        }
    }
    run_against_server(&setup.program, session)
}

/// Runs `session` against a new server. Returns no lines if the session succeeds, otherwise its
/// output and the server's log.
pub fn run_against_server(program: &Program, session: &mut Command) -> anyhow::Result<Vec<String>> {
    let server = LiveServer::start(program)?;
    let (key, limited) = (server.issue_key("roomy", 1_000)?, server.issue_key("limited", 1)?);
    // A wrong key, because it is one character longer than any valid key.
    let wrong = format!("{key}x");
    session.env("BASE_URL", server.base_url()).env("KEY", &key).env("LIMITED_KEY", &limited);
    session.env("WRONG_KEY", &wrong).env("URL_V2", format!("{}{}", server.origin(), V2.base_path));
    let ids = [("PENDING", PENDING), ("SHIPPED", SHIPPED), ("MISSING", MISSING)];
    for (name, id) in ids {
        session.env(name, id.to_string());
    }
    Ok(server.with_log(output_lines(session)?, &[&key, &limited]))
}
