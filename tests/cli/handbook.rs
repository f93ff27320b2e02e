//! The handbook and the README: what they name exists.

use crate::cli::commands;
use std::collections::BTreeSet;
use std::path::Path;
use testbed::CliSandbox;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const PAGES: [&str; 4] = ["operating", "replicas", "containers", "settings"];

/// Each text with its path below the root.
fn texts() -> Vec<(String, String)> {
    let pages = PAGES.map(|page| format!("src/handbook/{page}.md"));
    let paths = pages.into_iter().chain(["README.md".to_string()]);
    paths.map(|path| (read(&path), path)).map(|(text, path)| (path, text)).collect()
}

fn read(path: &str) -> String {
    let text = std::fs::read_to_string(Path::new(ROOT).join(path));
    text.unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What stands between backticks, and every line of a code block.
fn code(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (number, part) in text.split("```").enumerate() {
        if number % 2 == 1 {
            found.extend(part.lines().map(str::to_string));
        } else {
            found.extend(part.split('`').skip(1).step_by(2).map(|span| span.replace('\n', " ")));
        }
    }
    found
}

#[test]
fn a_page_is_printed_and_all_are_listed() {
    let sandbox = CliSandbox::new();
    let list = sandbox.run(&["handbook"]).done();
    for page in PAGES {
        assert!(list.contains(&format!("store-orders handbook {page} ")), "{list}");
        let text = read(&format!("src/handbook/{page}.md"));
        assert_eq!(sandbox.run(&["handbook", page]).done(), text);
    }
    assert_eq!(list.lines().count(), PAGES.len());
}

#[test]
fn commands_that_are_named_exist_and_take_their_arguments() {
    let (commands, mut seen, mut parsed) = (commands(), 0, 0);
    for (path, text) in texts() {
        for line in code(&text).iter().filter(|line| !line.starts_with("docker run ")) {
            let Some((_, ours)) = line.split_once("store-orders ") else { continue };
            let end = ours.find(['|', '>', '`', '#']).unwrap_or(ours.len());
            let words: Vec<&str> = ours[..end].split_whitespace().collect();
            let (mut command, mut names) = (&commands[0], 0);
            while let (true, Some(word)) = (command.has_subcommands(), words.get(names)) {
                let sub = command.find_subcommand(word);
                command = sub.unwrap_or_else(|| panic!("{path}: no command {word:?}: {line}"));
                names += 1;
            }
            seen += names;
            // A name alone is mentioned, not typed.
            if words.len() > names && words.last() != Some(&"--help") {
                let typed = ["store-orders"].iter().chain(&words);
                let refused = commands[0].clone().try_get_matches_from(typed).err();
                assert_eq!(refused.map(|error| error.to_string()), None, "{path}: {line}");
                parsed += 1;
            }
        }
    }
    assert!(seen > 30 && parsed > 10, "{seen} {parsed}");
}

#[test]
fn settings_that_are_named_exist() {
    let mut exist = BTreeSet::new();
    for arg in commands().iter().flat_map(clap::Command::get_arguments) {
        exist.extend(arg.get_long().map(|name| format!("--{name}")));
        exist.extend(arg.get_env().map(|name| name.to_string_lossy().into_owned()));
    }
    let mut seen = 0;
    for (path, text) in texts() {
        for line in code(&text) {
            // Other programs have options too.
            let ours = line.starts_with("--") || line.contains("store-orders ");
            let other = line.starts_with("docker") || line.starts_with("cargo");
            let is_name =
                |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
            for word in line.split(|character| !is_name(character)) {
                let flag = ours && !other && word.len() > 2 && word.starts_with("--");
                let variable =
                    word.len() > "STORE_ORDERS_".len() && word.starts_with("STORE_ORDERS_");
                if (flag && word != "--help") || variable {
                    assert!(exist.contains(word), "{path}: {word}: {line}");
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut seen = 0;
    for (path, text) in texts() {
        let directory = Path::new(ROOT).join(&path).parent().unwrap().to_path_buf();
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.starts_with("https://")) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let linked = match file {
                "" => text.clone(),
                file => {
                    let file = directory.join(file);
                    assert!(file.exists(), "{path}: {target}");
                    std::fs::read_to_string(file).unwrap_or_default()
                }
            };
            let headings = linked.lines().filter(|line| line.starts_with('#'));
            let mut anchors = headings
                .map(|line| line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-"));
            assert!(anchor.is_empty() || anchors.any(|own| own == anchor), "{path}: {target}");
            seen += 1;
        }
    }
    assert!(seen > 5, "{seen}");
}

#[test]
fn each_alert_is_in_the_runbook() {
    let alerts = CliSandbox::new().run(&["alerts"]).done();
    let runbook = read("src/handbook/operating.md");
    let names = alerts.lines().filter_map(|line| line.split_once("- alert: "));
    let mut seen = 0;
    for (_, name) in names {
        assert!(runbook.contains(&format!("| `{name}` |")), "{name}");
        seen += 1;
    }
    assert!(seen > 5, "{alerts}");
    assert_eq!(alerts.matches("runbook: store-orders handbook operating\n").count(), seen);
}
