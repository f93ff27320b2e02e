//! Checks that each pattern of `.cargo/mutants.toml` matches a file, because cargo-mutants does not
//! report patterns without a match.

use std::process::Command;
use xtask::repository::Repository;

#[test]
fn every_pattern_matches_a_file() {
    let repository = Repository::here();
    let configuration = repository.read(".cargo/mutants.toml").unwrap();
    let patterns: Vec<(&str, &str)> = configuration
        .split('"')
        .skip(1)
        .step_by(2)
        .filter_map(|text| text.split_once("**"))
        .collect();
    assert!(patterns.len() > 2, "{patterns:?}");
    let mut git = Command::new("git");
    let listed = git.arg("ls-files").current_dir(repository.root()).output().unwrap();
    let files = String::from_utf8(listed.stdout).unwrap();
    for (begin, end) in patterns {
        let is_match = |file: &str| file.starts_with(begin) && file.ends_with(end);
        assert!(files.lines().any(is_match), "{begin}**{end} matches no file");
    }
}
