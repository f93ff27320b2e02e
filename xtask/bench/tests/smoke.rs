//! Runs one part of the benchmark with two builds, as briefly as possible. Checks only the form of
//! the table, because such a short measurement gives meaningless numbers.

use std::path::Path;
use std::process::Command;

#[test]
fn both_builds_are_measured_and_printed_as_a_markdown_table() {
    let bench = Path::new(env!("CARGO_BIN_EXE_bench"));
    // The benchmark builds this program before it measures, so the file need not exist yet.
    let program = bench.with_file_name("store-orders");
    let mut command = Command::new(bench);
    command.args(["--only", "rejections", "--quick", "--rounds", "2", "--program"]);
    let output = command.arg(program).output().unwrap();
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
