//! A checkout in a temporary directory, with copies of real files that a test can edit.

use serde_json::Value;
use std::fs;
use std::sync::LazyLock;
use tempfile::TempDir;
use xtask::Outcome;
use xtask::check::{Inputs, Problem, check};
use xtask::documents::{DOCUMENTS, Document, V1, V2};
use xtask::emitted::Emitted;
use xtask::generate::client_code;
use xtask::repository::{
    CHANGELOG, CLIENT_DOCS, CLIENT_README, GUIDE, GeneratedFile, PAGES, RUST_SAMPLES, Repository,
    SAMPLES, SERVER,
};

pub struct Checkout {
    root: TempDir,
    pub repository: Repository,
}

pub fn files() -> Vec<&'static str> {
    let clients = client_files().iter().map(|file| file.name.as_str());
    let documents = DOCUMENTS.into_iter().flat_map(|source| [source.file, source.contract]);
    documents.chain(clients).chain([CLIENT_DOCS, CLIENT_README, CHANGELOG, GUIDE]).collect()
}

fn samples() -> Vec<String> {
    let names = |directory: &str| {
        let entries = fs::read_dir(Repository::here().root().join(directory)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.map(|name| format!("{directory}/{name}")).collect::<Vec<_>>()
    };
    DOCUMENTS.into_iter().flat_map(|of| names(&format!("{SAMPLES}/{}", of.module))).collect()
}

pub fn client_files() -> &'static [GeneratedFile] {
    static FILES: LazyLock<Vec<GeneratedFile>> =
        LazyLock::new(|| client_code(&DOCUMENTS.map(document)).unwrap());
    &FILES
}

/// Returns the document of this repository, not of a test's checkout.
pub fn document(source: &Document) -> Value {
    serde_json::from_str(&Repository::here().read(source.file).unwrap()).unwrap()
}

pub fn version(source: &Document) -> String {
    document(source)["info"]["version"].as_str().unwrap().to_string()
}

impl Checkout {
    pub fn with(names: &[&str]) -> Checkout {
        let root = tempfile::tempdir().unwrap();
        let checkout = Checkout { repository: Repository::open(root.path()), root };
        for name in names {
            checkout.put(name, &Repository::here().read(name).unwrap());
        }
        checkout
    }

    /// Adds the files that only a checkout with the server has.
    pub fn add_server(&self) {
        let pages =
            ["/changelog.html", "/changelog.atom", "/guide.html", "/llms.txt"].map(str::to_string);
        let references = DOCUMENTS.map(|of| format!("{}.html", of.reference));
        let pages = pages.into_iter().chain(references).map(|name| format!("{PAGES}{name}"));
        for name in samples().into_iter().chain(pages).chain([RUST_SAMPLES.to_string()]) {
            self.put(&name, &Repository::here().read(&name).unwrap());
        }
        self.put(SERVER, "");
    }

    pub fn put(&self, name: &str, text: &str) {
        let path = self.root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn replace(&self, name: &str, from: &str, to: &str) {
        let text = self.repository.read(name).unwrap();
        assert!(text.contains(from), "{name} no longer contains {from}");
        self.put(name, &text.replacen(from, to, 1));
    }

    pub fn check(&self) -> (Outcome, String) {
        run(&Inputs::read(&self.repository, emitted))
    }
}

pub fn emitted(_: &Repository) -> Emitted {
    store_orders_api::documents::DOCUMENTS.map(|source| Ok(source.emitted()?))
}

pub fn run(inputs: &Inputs) -> (Outcome, String) {
    let mut out = Vec::new();
    let outcome = check(inputs, false, &mut out).unwrap();
    (outcome, plain(&out))
}

pub fn run_fix(inputs: &Inputs) -> String {
    let mut out = Vec::new();
    let outcome = check(inputs, true, &mut out).unwrap();
    failures((outcome, plain(&out)))
}

pub fn published_problems((_, text): (Outcome, String)) -> String {
    let lines = text.split_inclusive('\n').skip_while(|line| !line.starts_with("✗ spec/published"));
    lines.skip(1).take_while(|line| line.starts_with(' ')).collect()
}

/// Formats the outcome and the output of a check, without the lines of passed checks. Writes `V1`
/// and `V2` instead of the documents' versions, so that expected outputs stay valid after a new
/// version.
pub fn failures((outcome, text): (Outcome, String)) -> String {
    let rest = |line: &&str| !line.starts_with('✓') && !line.starts_with("The server was not");
    let text: String = text.split_inclusive('\n').filter(rest).collect();
    format!("{outcome:?}\n{}", text.replace(&version(&V1), "V1").replace(&version(&V2), "V2"))
}

pub fn printed(problems: &[Problem]) -> String {
    let lines: String = problems.iter().flat_map(Problem::lines).map(|line| line + "\n").collect();
    plain(lines.as_bytes())
}

pub fn plain(out: &[u8]) -> String {
    anstream::adapter::strip_str(std::str::from_utf8(out).unwrap()).to_string()
}
