//! Prints the documents that the contracts of all versions emit, as a JSON array. `cargo xtask
//! check` compares these documents with the files in `spec/`.

use std::error::Error;
use std::io::Write;
use store_orders_api::documents::{DOCUMENTS, text};

fn main() -> Result<(), Box<dyn Error>> {
    let documents: Result<Vec<_>, _> =
        DOCUMENTS.into_iter().map(|document| document.emitted()).collect();
    Ok(std::io::stdout().write_all(text(&documents?.into())?.as_bytes())?)
}
