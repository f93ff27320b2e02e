//! The benchmark runs: one part of it, as short as can be. Its figures mean nothing
//! here.

use std::process::Command;
use testbed::Program;

#[test]
fn a_part_is_measured_and_printed_as_a_markdown_table() {
    // `cargo test --workspace` builds it.
    let program = Program::built().unwrap();
    let bench = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bench"));
        command.args(arguments).arg("--program").arg(program.path());
        let output = command.args(["--quick", "--rounds", "2"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = bench(&["--only", "logging"]);
    let row = text.lines().find(|line| line.starts_with("| list of 100, log on")).unwrap();
    assert!(row.contains("req/s") && row.contains("≥ 0.8: "), "{row}");
    let json = bench(&["--only", "logging", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(report["rows"][0]["ratio"]["median"].as_f64().unwrap() > 0.0, "{report}");
}
