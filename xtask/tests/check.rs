//! Output and outcome of `cargo xtask check`, for the real files and for files
//! with errors.

use crate::checkout::{Checkout, client_files, emitted, files, run, samples};
use serde_json::{Value, json};
use xtask::Outcome;
use xtask::check::{Inputs, check_texts};
use xtask::documents::{DOCUMENTS, V1};
use xtask::generate::client_code;
use xtask::repository::{CHANGELOG, CLIENT_DOCS, PAGES, Repository, SERVER};

/// The outcome of the check with this change of the stable version's document, of which nothing
/// is published.
fn with_document(from: &str, to: &str) -> (Outcome, String) {
    with(V1.file, from, to)
}

/// The outcome of the check with a change of any file.
fn with(name: &str, from: &str, to: &str) -> (Outcome, String) {
    let checkout = Checkout::with(&files());
    checkout.replace(name, from, to);
    checkout.check()
}

#[test]
fn this_repository_is_clean() {
    let (outcome, text) = run(&Inputs::read(&Repository::here(), emitted()));
    assert_eq!(outcome, Outcome::Clean, "{text}");
    let end = "\n8 of 8 checks passed.\nThe server was not compiled: `cargo check --workspace`.\n";
    assert!(text.ends_with(end), "{text}");
}

#[test]
fn a_difference_is_shown_with_place_both_values_and_fix() {
    let (outcome, text) = with_document("\"Orders returned\"", "\"All orders\"");
    assert_eq!(outcome, Outcome::Drift);
    let expected = "\
✓ spec/openapi.json and spec/openapi-v2.json are in canonical form
✗ api/src emits spec/openapi.json and spec/openapi-v2.json
  /paths/~1store~1orders/get/responses/200/description
    spec/openapi.json: \"All orders\"
    emitted by api:    \"Orders returned\"
    fix: cargo xtask generate; what is left then, xtask/contract drops or misreads
";
    assert!(text.starts_with(expected), "{text}");
    assert!(
        text.contains("  api/src/v1.rs (-), and what spec/openapi.json generates (+)"),
        "{text}"
    );
    assert!(text.contains("\n6 of 8 checks passed, 2 failed.\n"), "{text}");
}

#[test]
fn each_document_is_checked() {
    for of in DOCUMENTS {
        let server = format!("https://{{host}}{}\"", of.base_path);
        let other = format!("https://{{host}}{}1", of.base_path);
        let (outcome, text) = with(of.file, &server, &format!("{other}\""));
        assert_eq!(outcome, Outcome::Drift);
        let emitted = format!("/servers/0/url\n    {}: \"{other}\"\n", of.file);
        assert!(text.contains(&emitted), "{text}");
        assert!(text.contains(&format!("{0}1 does not end in {0},", of.base_path)), "{text}");
        let (_, text) = with(of.file, "{\n  ", "{\n");
        assert!(text.contains(&format!("  {} (-), and its canonical form", of.file)), "{text}");
    }
}

#[test]
fn long_texts_are_shown_where_they_differ() {
    let (_, text) = with_document("300 seconds and answered", "301 seconds and answered");
    let lines: Vec<_> = text.lines().filter(|line| line.contains(": \"")).collect();
    assert!(text.contains("  /info/description\n"), "{text}");
    let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest < 130, "{text}");
    assert!(text.contains("301 seconds") && text.contains("300 seconds"), "{lines:?}");
}

#[test]
fn a_missing_value_is_absent() {
    let (outcome, text) =
        with_document("\"openapi\": \"3.0.3\",", "\"openapi\": \"3.0.3\",\n  \"x-new\": 1,");
    assert_eq!(outcome, Outcome::Drift);
    assert!(
        text.contains("  /x-new\n    spec/openapi.json: 1\n    emitted by api:    absent\n"),
        "{text}"
    );
}

#[test]
fn a_doubled_key_is_a_problem_even_with_the_right_value() {
    let (outcome, text) = with_document(
        "\"openapi\": \"3.0.3\",",
        "\"openapi\": \"3.0.2\",\n  \"openapi\": \"3.0.3\",",
    );
    assert_eq!(outcome, Outcome::Drift);
    assert!(text.contains("    -  \"openapi\": \"3.0.2\",\n"), "{text}");
    assert!(text.contains("    fix: edit spec/openapi.json: no key twice in an object"), "{text}");
    assert!(text.contains("\n7 of 8 checks passed, 1 failed.\n"), "{text}");
}

#[test]
fn other_white_space_is_a_problem() {
    let (outcome, text) = with_document("\"openapi\": \"3.0.3\"", "\"openapi\":\"3.0.3\"");
    assert_eq!(outcome, Outcome::Drift);
    assert!(
        text.contains("✗ spec/openapi.json and spec/openapi-v2.json are in canonical form\n"),
        "{text}"
    );
}

#[test]
fn a_document_that_is_not_json_cannot_be_checked() {
    let checkout = Checkout::with(&files());
    checkout.put(SERVER, "");
    checkout.replace(V1.file, "\"openapi\": \"3.0.3\",", "\"openapi\" \"3.0.3\",");
    let (outcome, text) = checkout.check();
    assert_eq!(outcome, Outcome::CouldNotRun);
    assert!(text.contains("spec/openapi.json:2:13: invalid JSON: expected `:`"), "{text}");
    assert!(text.contains("\n2 of 8 checks passed, 6 could not run.\n"), "{text}");
}

#[test]
fn an_unreadable_file_stops_only_the_checks_that_need_it() {
    let rest: Vec<_> = files().into_iter().filter(|name| *name != CLIENT_DOCS).collect();
    let (outcome, text) = Checkout::with(&rest).check();
    assert_eq!(outcome, Outcome::CouldNotRun);
    let reason = format!("could not run\n  cannot read {CLIENT_DOCS}: ");
    assert!(text.contains(&reason), "{text}");
    assert!(text.contains("\n7 of 8 checks passed, 1 could not run.\n"), "{text}");
}

#[test]
fn all_checks_run_when_one_fails() {
    let checkout = Checkout::with(&files());
    checkout.replace(V1.file, "\"Orders returned\"", "\"All orders\"");
    checkout.put(&client_files()[0].name, "");
    let (outcome, text) = checkout.check();
    assert_eq!(outcome, Outcome::Drift);
    assert!(text.contains("\n6 of 8 checks passed, 2 failed.\n"), "{text}");
}

#[test]
fn an_edited_client_is_shown_as_lines() {
    for module in ["v1", "v2"] {
        let name = format!("api/client/src/{module}/operations.rs");
        let (outcome, text) = with(&name, "pub async fn cancel_order", "async fn cancel_order");
        assert_eq!(outcome, Outcome::Drift);
        assert!(text.contains(&format!("  {name} (-), and what ")), "{text}");
        assert!(text.contains("    -    async fn cancel_order(\n"), "{text}");
        assert!(text.contains("    +    pub async fn cancel_order(\n"), "{text}");
        assert!(text.contains("    fix: cargo xtask generate\n"), "{text}");
    }
}

#[test]
fn a_readme_that_is_not_what_the_documentation_says_is_shown_as_lines() {
    let (outcome, text) = with(CLIENT_DOCS, "# Retries", "# Repetitions");
    assert_eq!(outcome, Outcome::Drift);
    assert!(text.contains("  api/client/README.md (-), and what "), "{text}");
    assert!(text.contains("    -## Retries\n") && text.contains("    +## Repetitions\n"), "{text}");
    assert!(text.contains("    fix: cargo xtask generate\n"), "{text}");
}

#[test]
fn a_page_that_is_not_what_the_changelog_says_is_shown_as_lines() {
    let pages = ["changelog.html", "changelog.atom", "llms.txt", "docs.html", "docs-v2.html"]
        .map(|name| format!("{PAGES}/{name}"));
    let samples = samples();
    let texts: Vec<_> = pages.iter().chain(&samples).map(String::as_str).collect();
    let checkout = Checkout::with(&[files(), texts].concat());
    checkout.put(SERVER, "");
    let (outcome, text) = checkout.check();
    assert_eq!(outcome, Outcome::Clean, "{text}");
    checkout.replace(CHANGELOG, "# Changelog", "# Changes");
    let (outcome, text) = checkout.check();
    assert_eq!(outcome, Outcome::Drift);
    assert!(text.contains("/changelog.html (-), and what CHANGELOG.md generates (+)"), "{text}");
    assert!(text.contains("    fix: cargo xtask generate\n"), "{text}");
    checkout.replace("spec/samples/v2/listOrders.py", "while True:", "for page in range(9):");
    let (_, text) = checkout.check();
    assert!(
        text.contains("spec/openapi-v2.json (-), and what spec/samples generates (+)"),
        "{text}"
    );
}

#[test]
fn a_document_that_the_client_cannot_carry_is_explained_with_its_place() {
    let mut documents = DOCUMENTS.map(|of| -> Value {
        serde_json::from_str(&Repository::here().read(of.file).unwrap()).unwrap()
    });
    *documents[0].pointer_mut("/paths/~1store~1orders/get/responses/401").unwrap() = json!({
        "description": "An error with another schema",
        "content": { "application/json": { "schema": { "type": "string" } } },
    });
    let error = format!("{:#}", client_code(&documents).unwrap_err());
    let place = "/paths/~1store~1orders/get/responses/401/content/application~1json: ";
    assert!(error.contains(place), "{error}");
    assert!(error.contains("an error with another schema than Error"), "{error}");
}

#[test]
fn a_text_that_says_something_else_than_programs_read_is_a_problem() {
    for (from, to, place, detail) in [
        (
            "| Pro | 300 | 10,000 |",
            "| Pro | 400 | 10,000 |",
            "/info/description",
            "| Pro | 300 | 10,000 |",
        ),
        (
            "\"requestsPerMinute\": 300",
            "\"requestsPerMinute\": 400",
            "/info/description",
            "| Pro | 400 | 10,000 |",
        ),
        (
            "### 404 *pet_not_found*\\n\\nThere is no such pet.",
            "",
            "/info/description",
            "lacks: ### 404 *pet_not_found* There is no such pet.",
        ),
        (
            "### 429 *key_banned*",
            "### 403 *key_banned*",
            "/info/description",
            "has: ### 403 *key_banned* The key kept",
        ),
        (
            "`key_banned`, `internal_error`",
            "`internal_error`",
            "/components/schemas/Error/properties/code/description",
            "`key_banned`",
        ),
    ] {
        let document = Repository::here().read(V1.file).unwrap();
        assert!(document.contains(from), "{from}");
        let document: Value = serde_json::from_str(&document.replacen(from, to, 1)).unwrap();
        let problems = check_texts(V1.file, &document);
        let [problem] = problems.as_slice() else { panic!("{from}: {problems:?}") };
        assert_eq!(problem.place, place, "{from}");
        assert!(problem.details.iter().any(|line| line.contains(detail)), "{problem:?}");
    }
}
