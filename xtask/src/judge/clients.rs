//! Clients that other generators make from the document, with the live server:
//! they list, cancel, and are refused in every documented way.

use super::Court;
use super::live::{MISSING, PENDING, Running, SHIPPED};
use super::tools::said;
use crate::repository::DOCUMENT;
use std::fs;
use std::process::Command;

/// openapi-typescript makes the types, openapi-fetch sends, `tsc --strict`
/// holds the session to the types.
pub(super) fn typescript(court: &Court) -> anyhow::Result<Option<String>> {
    let directory = court.tools.place("typescript");
    fs::create_dir_all(&directory)?;
    for name in ["session.ts", "tsconfig.json"] {
        fs::copy(court.tools.source("typescript").join(name), directory.join(name))?;
    }
    fs::write(directory.join("package.json"), "{ \"type\": \"module\" }\n")?;
    let mut generate = court.tools.node("openapi-typescript");
    generate.arg(court.repository.root().join(DOCUMENT));
    generate.arg("--output").arg(directory.join("api.d.ts"));
    let mut check = court.tools.node("tsc");
    check.arg("--strict").arg("--project").arg(&directory);
    let mut session = court.tools.command("node");
    session.arg(directory.join("built/session.js"));
    in_turn(court, [&mut generate, &mut check], &mut session)
}

/// openapi-python-client makes the client, `mypy --strict` holds the session to
/// its types.
pub(super) fn python(court: &Court) -> anyhow::Result<Option<String>> {
    let directory = court.tools.place("python");
    fs::create_dir_all(&directory)?;
    let session_file = directory.join("session.py");
    fs::copy(court.tools.source("python/session.py"), &session_file)?;
    let mut generate = court.tools.python("openapi-python-client");
    generate.arg("generate").arg("--path").arg(court.repository.root().join(DOCUMENT));
    generate.args(["--meta", "none", "--overwrite", "--fail-on-warning", "--config"]);
    generate.arg(court.tools.source("python/generator.yaml"));
    generate.arg("--output-path").arg(directory.join("orders_client"));
    let mut check = court.tools.python("mypy");
    // The generated code is not held to our strictness, only our use of it.
    check.args(["--strict", "--follow-imports=silent"]).arg(&session_file).current_dir(&directory);
    let mut session = court.tools.python("python");
    session.arg(&session_file);
    in_turn(court, [&mut generate, &mut check], &mut session)
}

/// Prepares, then holds the session with a server of its own.
fn in_turn(
    court: &Court,
    before: [&mut Command; 2],
    session: &mut Command,
) -> anyhow::Result<Option<String>> {
    for command in before {
        if let Some(text) = said(command)? {
            return Ok(Some(text));
        }
    }
    let server = court.live.start()?;
    hold(&server, session)
}

fn hold(server: &Running, session: &mut Command) -> anyhow::Result<Option<String>> {
    let (key, limited) = (server.key("roomy", 1_000)?, server.key("limited", 1)?);
    // One character more than any key has.
    let wrong = format!("{key}x");
    session.env("BASE_URL", &server.base_url).env("KEY", &key).env("LIMITED_KEY", &limited);
    session.env("WRONG_KEY", &wrong);
    for (name, id) in [("PENDING", PENDING), ("SHIPPED", SHIPPED), ("MISSING", MISSING)] {
        session.env(name, id.to_string());
    }
    let text = said(session)?;
    Ok(text.map(|text| server.explained(&text, &[&key, &limited])))
}
