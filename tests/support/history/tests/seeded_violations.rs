//! Checks recordings with known results: `recordings/clean.jsonl` and `clean--*.jsonl` break no
//! rule; `RULE.jsonl` and `RULE--VARIANT.jsonl` break exactly that rule.

use anyhow::Context;
use history::event::{Answer, Answered, Asked, Request, What};
use history::{Event, Rule, Violation, read_events, violations};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use strum::VariantArray;

fn recordings() -> anyhow::Result<Vec<PathBuf>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    std::fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect()
}

fn events(path: &Path) -> anyhow::Result<Vec<Event>> {
    let file = BufReader::new(File::open(path)?);
    read_events(file).with_context(|| path.display().to_string())
}

#[test]
fn each_violation_is_found_by_exactly_its_rule() {
    let (mut rules, mut failures) = (BTreeSet::new(), Vec::new());
    for path in recordings().unwrap() {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let seeded = name.split("--").next().unwrap();
        let violations = violations(events(&path).unwrap());
        let broken: BTreeSet<String> = violations.iter().map(|one| one.rule.to_string()).collect();
        let expected: BTreeSet<String> =
            [seeded.to_string()].into_iter().filter(|rule| rule != "clean").collect();
        if broken != expected {
            let texts: Vec<String> = violations.iter().map(Violation::to_string).collect();
            failures.push(format!("{name}: {texts:#?}"));
        }
        rules.extend(broken);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let all: BTreeSet<String> = Rule::VARIANTS.iter().map(Rule::to_string).collect();
    assert_eq!(rules, all, "each rule has a recording that breaks it");
}

/// The checker keeps at most a thousand late responses. At this maximum, it drops those that a
/// stall excuses.
#[test]
fn a_late_answer_is_found_after_a_thousand_excused_ones() {
    const SECOND: u64 = 1_000_000_000;
    let late = |op, from: u64| {
        let (client, server) = (format!("lister-{op}"), Some("a".to_string()));
        let asked = Asked { op, client, server, key: None, request: Request::Pet };
        let answer = Answer::Status(Answered { status: 200, ..Answered::default() });
        let asks = Event { at: from, what: What::Asks(asked) };
        [asks, Event { at: from + 7 * SECOND, what: What::Gets { op, answer } }]
    };
    let stall = Event { at: 8 * SECOND, what: What::Stall { nanos: 8 * SECOND } };
    let mut recording: Vec<Event> = (0..1_000).flat_map(|op| late(op, op)).collect();
    recording.push(stall);
    recording.sort_by_key(|event| event.at);
    assert!(violations(recording.clone()).is_empty());
    recording.extend(late(1_000, 9 * SECOND));
    let rules: Vec<Rule> = violations(recording).iter().map(|violation| violation.rule).collect();
    assert_eq!(rules, [Rule::LateAnswer]);
}

#[test]
fn events_are_lines_of_json() {
    for path in recordings().unwrap() {
        let text = std::fs::read_to_string(&path).unwrap();
        for (line, event) in text.lines().zip(events(&path).unwrap()) {
            let json = serde_json::to_value(&event).unwrap();
            let again: Event = serde_json::from_value(json.clone()).unwrap();
            assert_eq!(serde_json::to_value(&again).unwrap(), json, "{line}");
        }
    }
}
