//! Runs the code samples of the documents against a live server. The samples in Rust run in
//! `tests/samples.rs`.

use super::setup::Setup;
use super::tools::output_lines;
use crate::documents::DOCUMENTS;
use crate::samples::FIELD;
use anyhow::Context;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use testbed::{run_curl_commands, run_samples};

/// Runs the samples for curl, which are single commands. Also runs the samples for the shell, which
/// are programs with curl.
pub(super) fn curl(setup: &Setup) -> anyhow::Result<Vec<String>> {
    let (directory, names) = extract(setup, "curl", "curl")?;
    let read = |(version, operation): &(&'static str, String)| -> anyhow::Result<_> {
        let file = directory.join(version).join(format!("{operation}.curl"));
        Ok((*version, operation.clone(), std::fs::read_to_string(file)?))
    };
    let commands = names.iter().map(read).collect::<anyhow::Result<Vec<_>>>()?;
    let ran = run_curl_commands(&setup.program, &commands);
    let mut found: Vec<_> = ran.err().into_iter().map(|error| format!("{error:#}")).collect();
    let (directory, names) = extract(setup, "shell", "sh")?;
    found.extend(findings(setup, &names, &directory, "sh", || setup.tools.command("sh"))?);
    Ok(found)
}

/// Runs the Python samples. A sample may use only the standard library.
pub(super) fn python(setup: &Setup) -> anyhow::Result<Vec<String>> {
    let (directory, names) = extract(setup, "python", "py")?;
    findings(setup, &names, &directory, "py", || {
        let mut python = setup.tools.command("python3");
        // With `-I -S`, Python ignores installed packages and its own environment variables, such
        // as `PYTHONPATH`.
        python.args(["-I", "-S", "-W", "error"]);
        python
    })
}

pub(super) fn typescript(setup: &Setup) -> anyhow::Result<Vec<String>> {
    let (directory, names) = extract(setup, "typescript", "mts")?;
    let settings = "samples/tsconfig.json";
    std::fs::copy(setup.tools.source(settings), setup.tools.installed(settings))?;
    // Callers often have a `commonjs` package, because `npm init -y` of npm 11 creates one.
    std::fs::write(directory.join("package.json"), "{ \"type\": \"commonjs\" }\n")?;
    let errors = output_lines(&mut setup.tools.compile_typescript(&directory))?;
    if !errors.is_empty() {
        return Ok(errors);
    }
    findings(setup, &names, &directory, "mts", || setup.tools.command("node"))
}

fn findings(
    setup: &Setup,
    names: &Names,
    directory: &Path,
    extension: &str,
    interpreter: impl Fn() -> Command + Sync,
) -> anyhow::Result<Vec<String>> {
    let samples = names.iter().map(|(version, operation)| (*version, operation.as_str()));
    let samples: Vec<_> = samples.collect();
    let ran = run_samples(&setup.program, &samples, |version, operation| {
        let mut command = interpreter();
        command.arg(directory.join(version).join(format!("{operation}.{extension}")));
        Ok(command)
    });
    Ok(ran.err().into_iter().map(|error| format!("{error:#}")).collect())
}

/// The name of each sample: the version, such as `v2`, and the operation.
type Names = Vec<(&'static str, String)>;

/// Writes the operations' samples in `language` to files such as `v2/getOrder.py`. Fails if an
/// operation has no such sample.
fn extract(setup: &Setup, language: &str, extension: &str) -> anyhow::Result<(PathBuf, Names)> {
    let (directory, mut extracted) = (setup.tools.installed("samples"), Vec::new());
    for of in DOCUMENTS {
        let version = of.module;
        std::fs::create_dir_all(directory.join(version))?;
        let document: Value = serde_json::from_str(&setup.repository.read(of.file)?)?;
        let paths = document.get("paths").and_then(Value::as_object);
        let paths = paths.into_iter().flat_map(|paths| paths.values());
        for operation in paths.filter_map(Value::as_object).flat_map(|path| path.values()) {
            let Some(id) = operation["operationId"].as_str() else { continue };
            let mut samples = operation[FIELD].as_array().into_iter().flatten();
            let program = samples.find(|sample| sample["lang"] == language);
            let program = program.and_then(|sample| sample["source"].as_str());
            let program = program.with_context(|| format!("{id} of {version}: no {language}"))?;
            std::fs::write(directory.join(version).join(format!("{id}.{extension}")), program)?;
            extracted.push((version, id.to_string()));
        }
    }
    Ok((directory, extracted))
}
