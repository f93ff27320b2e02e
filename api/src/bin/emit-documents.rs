//! Prints a JSON array of the documents that the contracts emit. `cargo xtask check` compares the
//! documents with the files in `spec/`.

use std::error::Error;
use std::io::Write;
use store_orders_api::documents::{DOCUMENTS, text};

fn main() -> Result<(), Box<dyn Error>> {
    let documents: Result<Vec<_>, _> =
        DOCUMENTS.into_iter().map(|document| document.emitted()).collect();
    Ok(std::io::stdout().write_all(text(&documents?.into())?.as_bytes())?)
}
