//! From an OpenAPI 3.0 document to the Rust code of a server that keeps it: types, parameters,
//! successes, errors, a trait of plain methods for handlers, and what dropshot serves.
//!
//! It knows nothing of orders. A construct that it cannot carry is refused with its place; nothing
//! is dropped in silence. The code leans on `api/runtime`.

mod check;
pub mod client;
mod errors;
mod facts;
mod format;
mod json;
mod names;
mod node;
mod operations;
pub mod pointer;
mod refusal;
mod schemas;
mod status;
#[cfg(test)]
mod tests;
mod text;
mod unions;
mod values;
mod write;

pub use format::File;
pub use json::parse;
pub use refusal::{Refusal, Refusals};

use errors::SharedErrors;
use node::Node;
use operations::Operation;
use schemas::Reader;
use serde_json::Value;
use values::{Constant, Table};

/// What a document says, as Rust has it.
struct Contract<'a> {
    reader: Reader<'a>,
    operations: Vec<Operation>,
    shared_errors: Vec<SharedErrors>,
    constants: Vec<Constant>,
    tables: Vec<Table>,
    facts: Value,
}

/// Why there is no code.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The document has what no code can be made of.
    #[error("{0}")]
    Refused(#[from] Refusals),
    /// The code could not be formatted.
    #[error("{0}")]
    Format(#[from] std::io::Error),
}

/// The code for this document. `source` is its file and `command` the command that writes the
/// code, as the first lines name them.
pub fn contract(document: &Value, source: &str, command: &str) -> Result<String, Error> {
    Ok(format::format(&unformatted(document, source, command)?)?)
}

fn unformatted(document: &Value, source: &str, command: &str) -> Result<String, Refusals> {
    let root = Node::root(document);
    let mut reader = Reader::new(root.clone());
    check::check(&mut reader);
    if reader.refusals.is_empty() {
        let constants = values::constants(&mut reader);
        let tables = values::tables(&mut reader);
        reader.components();
        let operations = operations::operations(&mut reader);
        let shared_errors = errors::shared_errors(&mut reader);
        if reader.refusals.is_empty() {
            let facts = facts::facts(&root);
            let contract = Contract { reader, operations, shared_errors, constants, tables, facts };
            return Ok(write::file(&contract, source, command));
        }
    }
    let mut refusals = reader.refusals;
    let order = order_of(&root);
    refusals.sort_by_key(|refusal| order.iter().position(|pointer| *pointer == refusal.pointer));
    Err(Refusals(refusals))
}

/// The pointers of a document in its order.
fn order_of(node: &Node<'_>) -> Vec<String> {
    let members = node.members().map(|(_, member)| member);
    let inner = members.chain(node.elements()).flat_map(|inner| order_of(&inner));
    std::iter::once(node.pointer.clone()).chain(inner).collect()
}
