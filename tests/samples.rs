//! The samples of the documents for Rust against the real server. `cargo xtask judge` runs those of
//! other languages.
#![expect(clippy::print_stdout, reason = "samples print")]

use libtest_mimic::{Arguments, Trial};
use std::error::Error;
use std::process::{Command, ExitCode};
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
    let run = || rust_samples().map_err(|error| format!("{error:#}").into());
    let trials = vec![Trial::test("rust_samples", run)];
    Ok(libtest_mimic::run(&Arguments::from_args(), trials).exit_code())
}
