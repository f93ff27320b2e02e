//! What is generated: the contract and the clients from the documents, their README from its
//! documentation, and the server's pages from the changelog and the documents. Writes no file.

use crate::canonical_json;
use crate::client_readme::client_readme;
use crate::documents::DOCUMENTS;
use crate::pages::pages;
use crate::repository::{CHANGELOG, CLIENT_DOCS, CLIENT_README, GeneratedFile, Repository};
use codegen::Error;
use codegen::client::Version;
use serde_json::Value;

/// All generated files: the contract, the clients and their README, and, where there is a server,
/// the pages.
pub fn generated(repository: &Repository) -> anyhow::Result<Vec<GeneratedFile>> {
    let file = |name: &str, source, text| GeneratedFile { name: name.to_string(), source, text };
    let (mut files, mut documents) = (Vec::new(), Vec::new());
    for of in DOCUMENTS {
        let source = of.file;
        let document = canonical_json::parse(source, &repository.read(source)?)?;
        let code = codegen::server(&document, source, "cargo xtask generate");
        files.push(file(of.contract, source, code.map_err(|error| of_document(error, source))?));
        documents.push(document);
    }
    files.extend(client_code(&documents)?);
    let readme = client_readme(&repository.read(CLIENT_DOCS)?)?;
    files.push(file(CLIENT_README, CLIENT_DOCS, readme));
    if repository.has_server() {
        files.extend(pages(&repository.read(CHANGELOG)?, &documents));
    }
    Ok(files)
}

/// An error whose places name the document, as those of the clients do.
fn of_document(error: Error, source: &str) -> Error {
    let Error::Refused(mut refusals) = error else { return error };
    for refusal in &mut refusals.0 {
        refusal.pointer = format!("{source}#{}", refusal.pointer);
    }
    Error::Refused(refusals)
}

/// The client of these documents, in the order of [`DOCUMENTS`].
pub fn client_code(documents: &[Value]) -> anyhow::Result<Vec<GeneratedFile>> {
    let versions = DOCUMENTS.iter().zip(documents).map(|(of, document)| Version {
        document,
        source: of.file,
        module: of.base_path.trim_start_matches('/'),
    });
    let versions: Vec<_> = versions.collect();
    let code = codegen::client::client(&versions, "cargo xtask generate")?.into_iter();
    let files = DOCUMENTS.iter().zip(code).map(|(of, text)| GeneratedFile {
        name: of.client.to_string(),
        source: of.file,
        text,
    });
    Ok(files.collect())
}
