//! `keys find -`: identifies the key on standard input.

use super::shown::{COLUMNS, KeyJson};
use crate::api_key::{Digest, Environment, digest_of};
use crate::cli::printer::Printer;
use crate::cli::table::record_text;
use crate::clock::{Clock, SystemClock};
use crate::store::{OperatorStore, StoreError};
use anyhow::Context;
use std::io::{BufRead, Read};

pub fn find(
    store: &dyn OperatorStore,
    clock: &SystemClock,
    printer: &mut Printer<'_>,
) -> anyhow::Result<()> {
    let digest = read_digest()?;
    let Some(record) = store.key_record(&digest)? else {
        let why = "the store knows no such key: its form is valid, so it may be of another store; \
                   --data-dir or --store names one";
        return Err(StoreError::NotFound(why.to_string()).into());
    };
    let key = KeyJson::new(record, clock.now());
    Ok(printer.show(&key, record_text(COLUMNS, &key)?)?)
}

/// Returns the digest of the key on the first line of standard input. Errors never quote the key or
/// a part of it.
fn read_digest() -> anyhow::Result<Digest> {
    let mut line = Vec::new();
    let mut input = std::io::stdin().lock().take(LONGEST_LINE_BYTES);
    input.read_until(b'\n', &mut line).context("cannot read standard input")?;
    let presented = line.trim_ascii();
    if presented.is_empty() {
        anyhow::bail!("there is no key on the first line of standard input");
    }
    let mut digests = Environment::ALL.into_iter().map(|kind| digest_of(presented, kind));
    digests.find_map(|digest| digest).context(
        "the first line of standard input is not an API key: one is sto_live_ or sto_test_ and 36 \
         letters and digits, of which the last six are a checksum; this one is incomplete, \
         mistyped, or not alone on its line",
    )
}

/// The maximum number of bytes that are read from the first line. A key has 45 bytes.
const LONGEST_LINE_BYTES: u64 = 4_096;

/// Accepts only `-`, so that no argument contains a key.
pub fn standard_input(text: &str) -> Result<String, &'static str> {
    match text {
        "-" => Ok(text.to_string()),
        _ => Err("a key is read from standard input, because every user of a machine can read \
                  arguments, and a shell keeps them; write - here"),
    }
}
