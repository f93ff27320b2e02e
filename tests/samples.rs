//! Runs the Rust samples of the documents against the real server. `cargo xtask external-checks`
//! runs the samples of other languages.
#![expect(
    clippy::print_stdout,
    non_snake_case,
    reason = "samples print and are named as operations"
)]

use libtest_mimic::{Arguments, Trial};
use std::error::Error;
use std::process::{Command, ExitCode};
use testbed::{Program, run_samples};

/// The API version and operation of a sample, and its program.
type Sample = (&'static str, &'static str, fn() -> Result<(), Box<dyn Error>>);

include!("samples/generated.rs");

/// The environment variable that names the sample to run. This program sets the variable when it
/// starts itself.
const SAMPLE: &str = "SAMPLE";

fn sample(name: &str) -> Result<(), Box<dyn Error>> {
    let mut samples = SAMPLES.iter();
    let sample = samples.find(|(version, operation, _)| format!("{version}/{operation}") == name);
    let (.., run) = sample.ok_or_else(|| format!("there is no sample {name}"))?;
    run()
}

fn rust_samples() -> anyhow::Result<()> {
    let samples = SAMPLES.iter().map(|(version, operation, _)| (*version, *operation));
    let samples: Vec<_> = samples.collect();
    run_samples(&Program::built()?, &samples, |version: &str, operation: &str| {
        let mut command = Command::new(std::env::current_exe()?);
        command.env(SAMPLE, format!("{version}/{operation}"));
        Ok(command)
    })
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    if let Ok(name) = std::env::var(SAMPLE) {
        return sample(&name).map(|()| ExitCode::SUCCESS);
    }
    let run = || rust_samples().map_err(|error| format!("{error:#}").into());
    let trials = vec![Trial::test("rust_samples", run)];
    Ok(libtest_mimic::run(&Arguments::from_args(), trials).exit_code())
}
