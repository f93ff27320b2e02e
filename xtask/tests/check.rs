//! What `cargo xtask check` prints and comes to: the real files, and files in
//! which something is wrong.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop here")]

use serde_json::{Value, json};
use xtask::Outcome;
use xtask::check::{Inputs, check};
use xtask::client_code::client_code;
use xtask::published::Published;
use xtask::repository::Repository;

/// The real files, with nothing published: a test that changes the document is
/// not to be told of the version.
fn inputs() -> Inputs {
    Inputs { published: Ok(Published::default()), ..Inputs::of(&Repository::here()) }
}

/// The outcome, and the output without its colours.
fn run(inputs: &Inputs) -> (Outcome, String) {
    let mut out = Vec::new();
    let outcome = check(inputs, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    (outcome, anstream::adapter::strip_str(&text).to_string())
}

/// The real inputs with this change of the document's text.
fn with_document(from: &str, to: &str) -> Inputs {
    let real = inputs();
    let text = real.document.as_ref().unwrap();
    assert!(text.contains(from), "the document no longer holds {from}");
    Inputs { document: Ok(text.replacen(from, to, 1)), ..real }
}

#[test]
fn this_repository_is_clean() {
    let (outcome, text) = run(&Inputs::of(&Repository::here()));
    assert_eq!(outcome, Outcome::Clean, "{text}");
    assert!(text.ends_with("4 of 4 checks passed.\n"), "{text}");
}

#[test]
fn a_difference_is_shown_with_place_both_values_and_what_mends_it() {
    let (outcome, text) = run(&with_document("\"Orders returned\"", "\"All orders\""));
    assert_eq!(outcome, Outcome::Drift);
    let expected = "\
✗ api/src emits spec/openapi.json: no, 1 difference
  /paths/~1store~1orders/get/responses/200/description
    spec/openapi.json: \"All orders\"
    emitted by api:    \"Orders returned\"
    mend: edit spec/openapi.json, or api/src/document.rs
";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.ends_with("3 of 4 checks passed, 1 failed.\n"), "{text}");
}

#[test]
fn long_texts_are_shown_where_they_part() {
    let (_, text) = run(&with_document("300 seconds, and it is", "301 seconds, and it is"));
    let lines: Vec<_> = text.lines().filter(|line| line.contains(": \"")).collect();
    assert!(text.contains("  /info/description\n"), "{text}");
    let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest < 130, "{text}");
    assert!(text.contains("301 seconds") && text.contains("300 seconds"), "{lines:?}");
}

#[test]
fn what_one_side_lacks_is_absent() {
    let (outcome, text) =
        run(&with_document("\"openapi\": \"3.0.3\",", "\"openapi\": \"3.0.3\", \"x-new\": 1,"));
    assert_eq!(outcome, Outcome::Drift);
    assert!(
        text.contains("  /x-new\n    spec/openapi.json: 1\n    emitted by api:    absent\n"),
        "{text}"
    );
}

#[test]
fn a_key_that_stands_twice_is_a_problem_even_with_the_right_value() {
    let (outcome, text) = run(&with_document(
        "\"openapi\": \"3.0.3\",",
        "\"openapi\": \"3.0.2\", \"openapi\": \"3.0.3\",",
    ));
    assert_eq!(outcome, Outcome::Drift);
    assert!(text.contains("  /openapi\n    this key stands more than once"), "{text}");
}

#[test]
fn a_document_that_is_no_json_cannot_be_checked() {
    let (outcome, text) = run(&with_document("\"openapi\": \"3.0.3\",", "\"openapi\" \"3.0.3\","));
    assert_eq!(outcome, Outcome::CouldNotRun);
    assert!(text.contains("spec/openapi.json:2:13: no valid JSON: expected `:`"), "{text}");
    assert!(text.ends_with("1 of 4 checks passed, 3 could not run.\n"), "{text}");
}

#[test]
fn what_cannot_be_read_stops_only_the_checks_that_need_it() {
    let unreadable = Inputs { client: Err(anyhow::anyhow!("cannot read it")), ..inputs() };
    let (outcome, text) = run(&unreadable);
    assert_eq!(outcome, Outcome::CouldNotRun);
    assert!(text.contains("cannot tell\n  cannot read it\n"), "{text}");
    assert!(text.ends_with("3 of 4 checks passed, 1 could not run.\n"), "{text}");
}

#[test]
fn all_checks_run_when_one_fails() {
    let mut wrong = with_document("\"Orders returned\"", "\"All orders\"");
    wrong.client = Ok(String::new());
    let (outcome, text) = run(&wrong);
    assert_eq!(outcome, Outcome::Drift);
    assert!(text.ends_with("2 of 4 checks passed, 2 failed.\n"), "{text}");
}

#[test]
fn an_edited_client_is_shown_as_lines() {
    let real = inputs();
    let edited = real.client.as_ref().unwrap().replacen(
        "pub async fn list_orders",
        "async fn list_orders",
        1,
    );
    let (outcome, text) = run(&Inputs { client: Ok(edited), ..real });
    assert_eq!(outcome, Outcome::Drift);
    assert!(text.contains("    -    async fn list_orders<'a>(\n"), "{text}");
    assert!(text.contains("    +    pub async fn list_orders<'a>(\n"), "{text}");
    assert!(text.contains("    mend: cargo xtask generate\n"), "{text}");
}

#[test]
fn a_document_that_progenitor_panics_on_is_explained() {
    let mut document: Value = serde_json::from_str(inputs().document.as_ref().unwrap()).unwrap();
    *document.pointer_mut("/paths/~1store~1orders/get/responses/401").unwrap() = json!({
        "description": "An error with another schema",
        "content": { "application/json": { "schema": { "type": "string" } } },
    });
    let message = client_code(&document).unwrap_err().to_string();
    assert!(message.contains("errors have two schemas"), "{message}");
    assert!(message.contains("response_types.len() <= 1"), "{message}");
}
