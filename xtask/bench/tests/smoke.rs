//! The benchmark runs: one part of it, as short as can be. Its figures mean nothing
//! here.

use std::process::Command;
use testbed::Program;

#[test]
fn a_part_is_measured_and_printed_as_a_markdown_table() {
    // `cargo test --workspace` builds it.
    let program = Program::built().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench"));
    command.args(["--only", "logging", "--quick", "--rounds", "2", "--program"]);
    let output = command.arg(program.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let row = text.lines().find(|line| line.starts_with("| list of 100, log on")).unwrap();
    assert!(row.contains("req/s") && row.contains("≥ 0.8: "), "{row}");
}
