//! The samples of the documents for Rust, each as its document has it, against the real server. `cargo xtask judge` runs those of
//! other languages.
#![expect(clippy::print_stdout, reason = "samples print")]

use anyhow::{Context, ensure};
use libtest_mimic::{Arguments, Trial};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::error::Error;
use std::process::{Command, ExitCode};
use store_orders_api::documents::DOCUMENTS;
use testbed::{Program, run_samples};

/// Names the sample that this program is when it starts itself.
const SAMPLE: &str = "SAMPLE";

macro_rules! samples {
    ($($module:ident $name:literal $file:literal,)*) => {
        $(mod $module {
            include!(concat!("../spec/samples/", $file));

            pub fn run() -> Result<(), Box<dyn std::error::Error>> {
                main()
            }
        })*

        /// What the programs below are compiled from.
        const SOURCES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../spec/samples/", $file)))),*];

        fn sample(name: &str) -> Result<(), Box<dyn Error>> {
            match name {
                $($name => $module::run(),)*
                _ => Err(format!("there is no sample {name}").into()),
            }
        }
    };
}

samples! {
    v1_list_orders "v1/listOrders" "listOrders.rs",
    v1_cancel_order "v1/cancelOrder" "cancelOrder.rs",
    v1_get_pet "v1/getPet" "getPet.rs",
    v2_list_orders "v2/listOrders" "v2/listOrders.rs",
    v2_get_order "v2/getOrder" "getOrder.rs",
    v2_cancel_order "v2/cancelOrder" "v2/cancelOrder.rs",
}

/// The document chooses a file of `spec/samples` by itself.
fn each_is_that_of_its_document() -> anyhow::Result<()> {
    let mut programs: BTreeMap<String, &str> =
        SOURCES.iter().map(|(name, source)| ((*name).to_string(), source.trim_end())).collect();
    for of in DOCUMENTS {
        let document = of.json()?;
        let paths = document.get("paths").and_then(Value::as_object);
        let paths = paths.context("a document has paths")?;
        for operation in paths.values().filter_map(Value::as_object).flat_map(Map::values) {
            let id = operation["operationId"].as_str().context("an operation has an id")?;
            let name = format!("{}/{id}", of.base_path.trim_start_matches('/'));
            let samples = operation["x-codeSamples"].as_array().into_iter().flatten();
            let mut own = samples.filter(|sample| sample["lang"] == "rust");
            let source = own.next().and_then(|sample| sample["source"].as_str());
            ensure!(
                source == programs.remove(&name),
                "{name} is published, and another one is run"
            );
        }
    }
    ensure!(programs.is_empty(), "run, and in no document: {:?}", programs.keys());
    Ok(())
}

fn rust_samples() -> anyhow::Result<()> {
    let command = |version: &str, operation: &str| {
        let mut command = Command::new(std::env::current_exe()?);
        command.env(SAMPLE, format!("{version}/{operation}"));
        Ok(command)
    };
    run_samples(&Program::built()?, command)
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    if let Ok(name) = std::env::var(SAMPLE) {
        return sample(&name).map(|()| ExitCode::SUCCESS);
    }
    let trial = |name, test: fn() -> anyhow::Result<()>| {
        Trial::test(name, move || test().map_err(|error| format!("{error:#}").into()))
    };
    let trials = vec![
        trial("rust_samples", rust_samples),
        trial("each_is_that_of_its_document", each_is_that_of_its_document),
    ];
    Ok(libtest_mimic::run(&Arguments::from_args(), trials).exit_code())
}
