//! `openapi`: prints the document of an API version as checked in. With `--served`, prints the
//! document that a server with the command's settings publishes.

use crate::api_key::Environment;
use crate::config::DocumentSettings;
use crate::http::served_document;
use anyhow::Context;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::io::Write;
use store_orders_api::documents::{DOCUMENTS, Document, V1, text};

#[derive(Args, Debug)]
pub struct OpenapiArgs {
    /// Print the document as served, with the addresses and contact from the settings
    #[arg(long)]
    served: bool,
    /// Version of the API whose document is printed
    #[arg(long, value_parser = version_parser(), default_value = V1.name)]
    api: &'static Document,
    /// Environment whose address comes first in the document that --served prints
    #[arg(long, value_enum, env, default_value = "production")]
    environment: Environment,
    #[command(flatten)]
    document: DocumentSettings,
}

fn version_parser() -> impl TypedValueParser<Value = &'static Document> {
    let value = |document: &Document| PossibleValue::new(document.name).help(document.about);
    PossibleValuesParser::new(DOCUMENTS.map(value)).try_map(|name| {
        let mut documents = DOCUMENTS.into_iter();
        documents.find(|document| document.name == name).ok_or("there is no such version")
    })
}

impl OpenapiArgs {
    pub(super) fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        if !self.served {
            return Ok(out.write_all(self.api.text.as_bytes())?);
        }
        let document = served_document(self.api, &self.document, self.environment)
            .and_then(|served| text(&served))
            .context("the OpenAPI document cannot be made")?;
        Ok(out.write_all(document.as_bytes())?)
    }
}
