//! Checks the tables of workarounds in `api/UPSTREAM.md`. The tables must name the library versions
//! in use, files that exist, and an upstream issue or "no issue found".

use std::process::Command;
use xtask::repository::Repository;

const LIST: &str = "api/UPSTREAM.md";
const LIBRARIES: [&str; 3] = ["dropshot", "progenitor", "reqwest"];

fn list() -> String {
    Repository::here().read(LIST).unwrap()
}

/// Returns the cells of each row in the tables of workarounds.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let tables = text.split("\n\n").filter(|part| part.starts_with("| What is missing"));
    let rows = tables.flat_map(|table| table.lines().skip(2));
    rows.map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

/// Returns the paths in a cell, which are the words in backticks with a `/` or a `.`.
fn files(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).filter(|word| word.contains(['/', '.'])).collect()
}

/// Returns the broken links of a cell. A link is correct if it leads to the issue or pull request
/// that its text names.
fn broken_links(cell: &str) -> Vec<String> {
    let links = cell.split('[').skip(1).map(|link| link.split_once("](").unwrap());
    let is_right = |text: &str, target: &str| {
        let (library, number) = text.split_once('#').unwrap();
        let address = format!("https://github.com/oxidecomputer/{library}/");
        LIBRARIES.contains(&library)
            && number.parse::<u32>().is_ok()
            && ["issues", "pull"].iter().any(|kind| target == format!("{address}{kind}/{number}"))
    };
    links
        .map(|(text, rest)| (text, rest.split_once(')').unwrap().0))
        .filter(|(text, target)| !is_right(text, target))
        .map(|(text, target)| format!("{text}: {target}"))
        .collect()
}

#[test]
fn every_row_names_files_that_exist_and_an_issue_or_that_none_was_found() {
    let text = list();
    let rows = rows(&text);
    assert!(rows.len() > 10, "{rows:?}");
    for row in rows {
        assert_eq!(row.len(), 3, "{row:?}");
        let named: Vec<_> = files(row[1])
            .into_iter()
            .filter(|file| file.starts_with(char::is_alphabetic))
            .collect();
        assert!(!named.is_empty(), "no workaround in {row:?}");
        for file in named {
            let exists = Repository::here().root().join(file).is_file();
            assert!(exists, "{LIST} names {file}, which does not exist");
        }
        assert!(row[2].contains('#') || row[2].contains("no issue found"), "{row:?}");
        assert_eq!(broken_links(row[2]), Vec::<String>::new());
    }
}

#[test]
fn the_headings_are_the_versions_in_use() {
    for library in LIBRARIES {
        let arguments = ["pkgid", "--offline", "--package", library];
        let mut command = Command::new(env!("CARGO"));
        let output = command.args(arguments).current_dir(Repository::here().root()).output();
        let id = String::from_utf8(output.unwrap().stdout).unwrap();
        let version = id.trim().rsplit(['@', '#']).next().unwrap();
        let minor = version.rsplit_once('.').unwrap().0;
        let heading = format!("## {library} {minor}");
        assert!(
            list().lines().any(|line| line == heading),
            "{LIST} has no \"{heading}\"; fix: go through its rows for {library} {version}"
        );
    }
}

#[test]
fn wrong_links_and_files_are_found() {
    let right = "[dropshot#62](https://github.com/oxidecomputer/dropshot/issues/62), open";
    assert!(broken_links(right).is_empty());
    for wrong in [
        right.replacen("62", "63", 1),
        right.replacen("dropshot", "dropshut", 2),
        right.replacen("issues", "wiki", 1),
    ] {
        assert_eq!(broken_links(&wrong).len(), 1, "{wrong}");
    }
    assert_eq!(files("`src/a.rs` in the `exec` hook"), ["src/a.rs"]);
    assert_eq!(
        rows("T\n\n| What is missing | W | U |\n|---|---|---|\n| a | `b` | c |\n"),
        [["a", "`b`", "c"]]
    );
}
