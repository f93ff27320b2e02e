//! `openapi`: prints the API document, either as checked in or as served.

use crate::api_key::Environment;
use crate::config::DocumentSettings;
use crate::http::served_document;
use anyhow::Context;
use clap::{Args, ValueEnum};
use std::io::Write;
use store_orders_api::documents::{V1, V2, text};

/// Arguments of `openapi`.
#[derive(Args, Debug)]
pub struct OpenapiArgs {
    /// Print the document as a server with these settings serves it, with the addresses and contact
    /// in the settings instead of the examples
    #[arg(long)]
    served: bool,
    /// Version of the API
    #[arg(long, value_enum, default_value = "v1")]
    api: ApiVersionArg,
    /// Environment whose address comes first
    #[arg(long, value_enum, env, default_value = "production")]
    environment: Environment,
    #[command(flatten)]
    document: DocumentSettings,
}

/// A version of the API, named as in the base path.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum ApiVersionArg {
    /// The whole list of orders
    V1,
    /// The list in pages, with filters and the status of each order
    V2,
}

impl OpenapiArgs {
    pub(super) fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let document = if self.api == ApiVersionArg::V2 { &V2 } else { &V1 };
        if !self.served {
            return Ok(out.write_all(document.text.as_bytes())?);
        }
        let document = served_document(document, &self.document, self.environment)
            .and_then(|served| text(&served))
            .context("the OpenAPI document cannot be made")?;
        Ok(out.write_all(document.as_bytes())?)
    }
}
