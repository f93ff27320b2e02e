//! Replaces the command `cargo add store-orders-client` in samples and documentation. The command
//! works only after the crate is published in a registry.

use crate::repository::{CLIENT_MANIFEST, Repository};

/// The command in the samples and the crate's documentation. [`fill_in_client_command`] replaces
/// the command in generated files.
const FROM_REGISTRY: &str = "cargo add store-orders-client";

/// Replaces [`FROM_REGISTRY`] in a text with a command that works before the crate is published.
/// The new command adds the crate from the manifest's `repository`, or else from a checkout in the
/// directory `store-orders`.
pub fn fill_in_client_command(repository: &Repository, text: &str) -> anyhow::Result<String> {
    let manifest = repository.read_or_empty(CLIENT_MANIFEST)?;
    let mut lines = manifest.lines();
    let url = lines.find_map(|line| line.strip_prefix("repository = \"")?.strip_suffix('"'));
    let command = match url {
        Some(url) => format!("cargo add --git {url} store-orders-client"),
        None => "cargo add --path store-orders/api/client".to_string(),
    };
    Ok(text.replace(FROM_REGISTRY, &command))
}
