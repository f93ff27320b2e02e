//! Checks that each generated file has the content that `cargo xtask generate` would write.

use super::inputs::Inputs;
use super::problem::{Fix, Problem};
use crate::generate::generated;
use crate::repository::{CLIENT_README, PAGES};

pub(super) fn claim(_: &Inputs) -> String {
    format!("the contracts in api/src, the clients, {CLIENT_README} and {PAGES} are up to date")
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    let (mut problems, files) = (Vec::new(), &inputs.repository);
    let generated = match generated(files) {
        Ok(generated) => generated,
        Err(error) => match error.downcast_ref() {
            Some(codegen::Error::Refused(refusals)) => return Ok(refused(refusals)),
            _ => return Err(error),
        },
    };
    for file in generated {
        let current = files.read_or_empty(&file.name)?;
        if current != file.text {
            let reasons = vec![format!("generated from {}", file.source)];
            problems.push(Problem { reasons, ..Problem::for_file(&file.name, file.text, current) });
        }
    }
    Ok(problems)
}

fn refused(refusals: &codegen::Refusals) -> Vec<Problem> {
    let problem = |refusal: &codegen::Refusal| Problem {
        place: refusal.pointer.clone(),
        expected: "a construct that the generator supports".to_string(),
        found: refusal.problem.clone(),
        reasons: Vec::new(),
        fix: Fix::ByHand(refusal.fix.clone()),
    };
    refusals.0.iter().map(problem).collect()
}
