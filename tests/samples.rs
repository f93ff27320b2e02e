//! Runs the Rust samples of the documents against the real server. `cargo xtask external-checks`
//! runs the samples of other languages.
#![expect(clippy::print_stdout, reason = "samples print")]

use anyhow::{Context, ensure};
use libtest_mimic::{Arguments, Trial};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::error::Error;
use std::process::{Command, ExitCode};
use store_orders_api::documents::DOCUMENTS;
use testbed::{Program, run_samples};

/// The environment variable that names the sample to run; set when this program starts itself.
const SAMPLE: &str = "SAMPLE";

macro_rules! samples {
    ($($module:ident $name:literal $file:literal,)*) => {
        $(mod $module {
            include!(concat!("../spec/samples/", $file));

            pub fn run() -> Result<(), Box<dyn std::error::Error>> {
                main()
            }
        })*

        /// The source of each sample.
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

/// Checks that the documents contain exactly the samples that run here. Each document chooses its
/// sample files of `spec/samples` independently of this list.
fn rust_samples_are_published() -> anyhow::Result<()> {
    let mut programs: BTreeMap<String, &str> =
        SOURCES.iter().map(|(name, source)| ((*name).to_string(), source.trim_end())).collect();
    for document in DOCUMENTS {
        let json = document.json()?;
        let paths = json.get("paths").and_then(Value::as_object);
        let paths = paths.context("a document has paths")?;
        for operation in paths.values().filter_map(Value::as_object).flat_map(Map::values) {
            let id = operation["operationId"].as_str().context("an operation has an id")?;
            let name = format!("{}/{id}", document.base_path.trim_start_matches('/'));
            let samples = operation["x-codeSamples"].as_array().into_iter().flatten();
            let mut for_rust = samples.filter(|sample| sample["lang"] == "rust");
            let source = for_rust.next().and_then(|sample| sample["source"].as_str());
            ensure!(
                source == programs.remove(&name),
                "{name}: the published sample is not the one that runs here"
            );
        }
    }
    ensure!(programs.is_empty(), "not in any document: {:?}", programs.keys());
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
        trial("rust_samples_are_published", rust_samples_are_published),
    ];
    Ok(libtest_mimic::run(&Arguments::from_args(), trials).exit_code())
}
