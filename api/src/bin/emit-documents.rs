//! Prints what the contract emits, as a JSON array of the document of each version. `cargo xtask
//! check` holds it against the files in `spec/`.

use store_orders_api::documents::DOCUMENTS;
use store_orders_api::emission::{DocumentError, text};

fn main() -> Result<(), DocumentError> {
    let documents: Result<Vec<_>, _> =
        DOCUMENTS.into_iter().map(|document| document.emitted()).collect();
    print!("{}", text(&documents?.into())?);
    Ok(())
}
