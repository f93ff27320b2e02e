//! The benchmark runs: one part of it, as short as can be, beside another build. Its figures mean
//! nothing here.

use std::process::Command;
use testbed::Program;

#[test]
fn both_builds_are_measured_and_printed_as_a_markdown_table() {
    // `cargo test --workspace` has built it, and the benchmark finds nothing left to compile.
    let program = Program::built().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench"));
    command.args(["--only", "rejections", "--quick", "--rounds", "2", "--program"]);
    let output = command.arg(program.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| 4")).collect();
    let [bare_401, other_401, bare_429, other_429] = rows[..] else { panic!("{text}") };
    for (row, work) in [(bare_401, "401"), (bare_429, "429")] {
        assert!(row.contains(work) && row.contains("dropshot: "), "{row}");
        assert!(row.contains("/s ") && row.contains("≥ 0.75: "), "{row}");
    }
    for (row, work) in [(other_401, "401"), (other_429, "429")] {
        assert!(row.contains(work) && row.contains("the other build: "), "{row}");
    }
}
