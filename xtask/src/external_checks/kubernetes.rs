//! Validates the manifests of the handbook's Kubernetes page against Kubernetes' own schemas.

use super::setup::Setup;
use super::tools::output_lines;
use anyhow::{Context, ensure};
use std::path::{Path, PathBuf};

const PAGE: &str = "src/handbook/kubernetes.md";

/// The oldest and the newest version of Kubernetes whose schemas the manifests must match.
const VERSIONS: [&str; 2] = ["1.30.0", "1.37.0"];

/// A field of the manifests in [`PAGE`], and a misspelling of the field. kubernetes-validate must
/// reject the misspelling.
const MISTYPED: (&str, &str) = ("maxUnavailable: 1", "maxUnavailabel: 1");

/// Checks the manifests with kubernetes-validate and returns its findings. Also returns a finding
/// if kubernetes-validate accepts a misspelled field.
pub(super) fn manifests(setup: &Setup) -> anyhow::Result<Vec<String>> {
    let page = std::fs::read_to_string(setup.repository.root().join(PAGE))?;
    let directory = tempfile::tempdir()?;
    let files = write_files(&page, directory.path())?;
    let validate = |version| {
        let mut validate = setup.tools.python("kubernetes-validate");
        validate.args(["--strict", "--quiet", "--kubernetes-version", version]);
        output_lines(validate.args(&files))
    };
    let mut findings = Vec::new();
    for version in VERSIONS {
        findings.extend(validate(version)?);
    }
    write_files(&page.replace(MISTYPED.0, MISTYPED.1), directory.path())?;
    for version in VERSIONS {
        if validate(version)?.is_empty() {
            findings.push(format!("{version}: {} was not noticed", MISTYPED.1));
        }
    }
    Ok(findings)
}

/// Writes the page's YAML blocks to files. A block's first line names the file: `# store-orders…`.
fn write_files(page: &str, directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for block in page.split("```yaml\n# store-orders").skip(1) {
        let (name, rest) = block.split_once('\n').context("a block is empty")?;
        let (text, _) = rest.split_once("```").context("a block does not end")?;
        let file = directory.join(format!("store-orders{name}"));
        std::fs::write(&file, text)?;
        files.push(file);
    }
    ensure!(files.len() == 2, "{PAGE} has {} files", files.len());
    Ok(files)
}
