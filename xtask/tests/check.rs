//! Output and outcome of `cargo xtask check`, for the real files and for files
//! with errors.

use crate::checkout::{Checkout, emitted, files, left, run};
use serde_json::{Value, json};
use testbed::{Inline, assert_text, str};
use xtask::Outcome;
use xtask::check::Inputs;
use xtask::documents::{DOCUMENTS, V1};
use xtask::generate::client_code;
use xtask::repository::{CHANGELOG, CLIENT_DOCS, Repository};

/// Asserts what is left to say after this change of a file of which nothing is published.
#[track_caller]
fn found(name: &str, from: &str, to: &str, expected: Inline) {
    let checkout = Checkout::with(&files());
    checkout.replace(name, from, to);
    assert_text(&left(checkout.check()), expected);
}

#[test]
fn this_repository_is_clean() {
    let (outcome, text) = run(&Inputs::read(&Repository::here(), emitted));
    assert_eq!(outcome, Outcome::Clean, "{text}");
    assert_text(
        &left((outcome, text)),
        str![[r#"
Clean
8 of 8 checks passed.
"#]],
    );
}

#[test]
fn all_checks_are_listed_with_what_they_hold() {
    assert_text(
        &Checkout::with(&files()).check().1,
        str![[r#"
✓ spec/openapi.json and spec/openapi-v2.json are in canonical form, with the programs of spec/samples
✓ of spec/openapi.json nothing is published yet, of spec/openapi-v2.json nothing is published yet
✓ api/src/v1.rs and v2.rs, the clients, api/client/README.md and src/http/docs/generated are what is generated
✓ api/src emits spec/openapi.json and spec/openapi-v2.json
✓ the texts of spec/openapi.json and spec/openapi-v2.json have the plans and codes that programs read
✓ the major versions of spec/openapi.json and spec/openapi-v2.json are those of every base URL
✓ spec/published holds what SHA256SUMS says; it is not compared with the history of main, because this is no git checkout
✓ the server's modules import each other down the map of src/lib.rs
8 of 8 checks passed.
The server was not compiled: `cargo check --workspace`.
"#]],
    );
}

#[test]
fn a_difference_is_shown_with_place_both_values_and_fix() {
    found(
        V1.file,
        "\"Orders returned\"",
        "\"All orders\"",
        str![[r#"
Drift
✗ api/src/v1.rs and v2.rs, the clients, api/client/README.md and src/http/docs/generated are what is generated
  api/src/v1.rs: found (-), expected (+)
    @@ [LINES] @@
     #[derive(Debug)]
     pub enum ListOrdersSuccess {
    -    /// Orders returned
    +    /// All orders
         Ok {
             /// The body.
    @@ [LINES] @@
         type Body = Vec<Order>;
         const STATUS: Option<StatusCode> = Some(StatusCode::OK);
    -    const DESCRIPTION: &'static str = "Orders returned";
    +    const DESCRIPTION: &'static str = "All orders";
     
         fn into_response(self) -> Result<Response<Body>, Failure> {
    - generated from spec/openapi.json
    fix: cargo xtask check --fix
✗ api/src emits spec/openapi.json and spec/openapi-v2.json
  spec/openapi.json#/paths/~1store~1orders/get/responses/200/description
    expected: "All orders"
    found:    "Orders returned"
    fix: cargo xtask generate; what is left then, xtask/contract drops or misreads
6 of 8 checks passed, 2 failed.
"#]],
    );
}

#[test]
fn each_document_is_checked() {
    let of = DOCUMENTS[1];
    found(
        of.file,
        "https://{host}/v2\"",
        "https://{host}/v21\"",
        str![[r#"
Drift
...
✗ api/src emits spec/openapi.json and spec/openapi-v2.json
  spec/openapi-v2.json#/servers/0/url
    expected: "https://{host}/v21"
    found:    "https://{host}/v2"
    fix: cargo xtask generate; what is left then, xtask/contract drops or misreads
✗ the major versions of spec/openapi.json and spec/openapi-v2.json are those of every base URL
  spec/openapi-v2.json#/servers/0/url
    expected: a path that ends in /v2
    found:    https://orders.store.example/v21
    - info.version is V2
    fix: make the URL end in /v2, or undo the change of info.version to V2: the path changes with each major version, and with nothing else
5 of 8 checks passed, 3 failed.
"#]],
    );
}

#[test]
fn long_texts_are_shown_where_they_differ() {
    found(
        V1.file,
        "300 seconds and answered",
        "301 seconds and answered",
        str![[r#"
Drift
...
✗ api/src emits spec/openapi.json and spec/openapi-v2.json
  spec/openapi.json#/info/description
    expected: …"es), it is banned for 301 seconds and answered with `key_banned`. What… ([NUMBER] characters)
    found:    …"es), it is banned for 300 seconds and answered with `key_banned`. What… ([NUMBER] characters)
    fix: cargo xtask generate; what is left then, xtask/contract drops or misreads
6 of 8 checks passed, 2 failed.
"#]],
    );
}

#[test]
fn a_missing_value_is_absent() {
    found(
        V1.file,
        "\"openapi\": \"3.0.3\",",
        "\"openapi\": \"3.0.3\",\n  \"x-new\": 1,",
        str![[r#"
Drift
...
✗ api/src emits spec/openapi.json and spec/openapi-v2.json
  spec/openapi.json#/x-new
    expected: 1
    found:    absent
    fix: cargo xtask generate; what is left then, xtask/contract drops or misreads
6 of 8 checks passed, 2 failed.
"#]],
    );
}

#[test]
fn a_doubled_key_is_refused_even_with_the_right_value() {
    let doubled = "\"openapi\": \"3.0.2\",\n  \"openapi\": \"3.0.3\",";
    found(
        V1.file,
        "\"openapi\": \"3.0.3\",",
        doubled,
        str![[r#"
CouldNotRun
? spec/openapi.json and spec/openapi-v2.json are in canonical form, with the programs of spec/samples: could not run
  spec/openapi.json#/openapi: stands twice in its object; remove one of the two
? of spec/openapi.json nothing is published yet, of spec/openapi-v2.json nothing is published yet: could not run
  spec/openapi.json#/openapi: stands twice in its object; remove one of the two
? api/src/v1.rs and v2.rs, the clients, api/client/README.md and src/http/docs/generated are what is generated: could not run
  spec/openapi.json#/openapi: stands twice in its object; remove one of the two
? api/src emits spec/openapi.json and spec/openapi-v2.json: could not run
  spec/openapi.json#/openapi: stands twice in its object; remove one of the two
? the texts of spec/openapi.json and spec/openapi-v2.json have the plans and codes that programs read: could not run
  spec/openapi.json#/openapi: stands twice in its object; remove one of the two
? the major versions of spec/openapi.json and spec/openapi-v2.json are those of every base URL: could not run
  spec/openapi.json#/openapi: stands twice in its object; remove one of the two
2 of 8 checks passed, 6 could not run.
"#]],
    );
}

#[test]
fn other_white_space_is_a_problem() {
    found(
        V1.file,
        "\"openapi\": \"3.0.3\"",
        "\"openapi\":\"3.0.3\"",
        str![[r#"
Drift
✗ spec/openapi.json and spec/openapi-v2.json are in canonical form, with the programs of spec/samples
  spec/openapi.json: found (-), expected (+)
    @@ [LINES] @@
     {
    -  "openapi":"3.0.3",
    +  "openapi": "3.0.3",
       "info": {
         "title": "Store Orders API",
    fix: cargo xtask check --fix
7 of 8 checks passed, 1 failed.
"#]],
    );
}

#[test]
fn a_document_that_is_not_json_cannot_be_checked() {
    found(
        V1.file,
        "\"openapi\": \"3.0.3\",",
        "\"openapi\" \"3.0.3\",",
        str![[r#"
CouldNotRun
? spec/openapi.json and spec/openapi-v2.json are in canonical form, with the programs of spec/samples: could not run
  spec/openapi.json:2:13: invalid JSON: expected `:` at line 2 column 13
...
2 of 8 checks passed, 6 could not run.
"#]],
    );
}

#[test]
fn an_unreadable_file_stops_only_the_checks_that_need_it() {
    let rest: Vec<_> = files().into_iter().filter(|name| *name != CLIENT_DOCS).collect();
    assert_text(
        &left(Checkout::with(&rest).check()),
        str![[r#"
CouldNotRun
? api/src/v1.rs and v2.rs, the clients, api/client/README.md and src/http/docs/generated are what is generated: could not run
  cannot read api/client/src/lib.rs: No such file or directory (os error 2)
7 of 8 checks passed, 1 could not run.
"#]],
    );
}

#[test]
fn an_edited_client_is_shown_as_lines() {
    let name = "api/client/src/v2/operations.rs";
    found(
        name,
        "pub async fn cancel_order",
        "async fn cancel_order",
        str![[r#"
Drift
✗ api/src/v1.rs and v2.rs, the clients, api/client/README.md and src/http/docs/generated are what is generated
  api/client/src/v2/operations.rs: found (-), expected (+)
    @@ [LINES] @@
         /// - 503 [`ServiceUnavailable`](crate::ErrorCode::ServiceUnavailable): The server cannot reach
         ///   its data. Wait for the time in `Retry-After`.
    -    async fn cancel_order(
    +    pub async fn cancel_order(
             &self,
             order_id: impl Into<OrderId>,
    - generated from spec/openapi-v2.json
    fix: cargo xtask check --fix
7 of 8 checks passed, 1 failed.
"#]],
    );
}

#[test]
fn a_readme_that_is_not_what_the_documentation_says_is_shown_as_lines() {
    found(
        CLIENT_DOCS,
        "# Retries",
        "# Repetitions",
        str![[r#"
Drift
✗ api/src/v1.rs and v2.rs, the clients, api/client/README.md and src/http/docs/generated are what is generated
  api/client/README.md: found (-), expected (+)
    @@ [LINES] @@
     code, but its status, its headers and its request id.
     
    -## Retries
    +## Repetitions
     
     A request that is answered with 429, 500, 502, 503 or 504 is sent again after the time
    - generated from api/client/src/lib.rs
    fix: cargo xtask check --fix
7 of 8 checks passed, 1 failed.
"#]],
    );
}

#[test]
fn a_page_that_is_not_what_the_changelog_says_is_shown_as_lines() {
    let checkout = Checkout::with(&files());
    checkout.add_server();
    assert_eq!(checkout.check().0, Outcome::Clean);
    checkout.replace(CHANGELOG, "# Changelog", "# Changes");
    assert_text(
        &left(checkout.check()),
        str![[r##"
Drift
✗ api/src/v1.rs and v2.rs, the clients, api/client/README.md and src/http/docs/generated are what is generated
  src/http/docs/generated/changelog.html: found (-), expected (+)
    @@ [LINES] @@
     <nav class="site" aria-label="Site"><a href="/docs">API v1</a> <a href="/docs/v2">API v2 <span class… ([NUMBER] characters)
     <main class="text">
    -<h1 id="changelog"><a href="#changelog">Changelog</a></h1>
    +<h1 id="changes"><a href="#changes">Changes</a></h1>
     <p>What changes for those who call the API. The version is that of the API document
     (<code>info.version</code>); its first number is the one in the path.</p>
    - generated from CHANGELOG.md
    fix: cargo xtask check --fix
7 of 8 checks passed, 1 failed.
"##]],
    );
}

#[test]
fn a_program_to_copy_that_differs_or_is_missing_is_a_problem() {
    let checkout = Checkout::with(&files());
    checkout.add_server();
    checkout.replace("spec/samples/v2/listOrders.py", "while True:", "for page in range(9):");
    let missing = checkout.repository.root().join("spec/samples/getPet.sh");
    std::fs::remove_file(missing).unwrap();
    assert_text(
        &left(checkout.check()),
        str![[r##"
Drift
✗ spec/openapi.json and spec/openapi-v2.json are in canonical form, with the programs of spec/samples
  spec/samples/getPet.sh
    expected: a program to copy
    found:    absent
    fix: write it
  spec/openapi-v2.json: found (-), expected (+)
    @@ [LINES] @@
                 "lang": "python",
                 "label": "Python",
    -            "source": "# Prints the pending orders of pet 7.[..]
    +            "source": "# Prints the pending orders of pet 7.[..]
               },
               {
    - its programs are those of spec/samples
    fix: cargo xtask check --fix
7 of 8 checks passed, 1 failed.
"##]],
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
    assert_text(
        &format!("{}", client_code(&documents).unwrap_err()),
        str![
            "spec/openapi.json#/paths/~1store~1orders/get/responses/401/content/application~1json: an error with another schema than Error is not supported by the client, which has one type for the bodies of errors; use that schema"
        ],
    );
}

#[test]
fn a_document_of_which_no_code_can_be_made_is_a_problem() {
    let responses = "\"#/components/responses/ServerError\"";
    found(
        V1.file,
        responses,
        "\"#/components/responses/Gone\"",
        str![[r##"
Drift
✗ api/src/v1.rs and v2.rs, the clients, api/client/README.md and src/http/docs/generated are what is generated
  spec/openapi.json#/paths/~1store~1orders/get/responses/5XX/$ref
    expected: what code can be made of
    found:    #/components/responses/Gone leads nowhere
    fix: add what it names
✗ api/src emits spec/openapi.json and spec/openapi-v2.json
  spec/openapi.json#/paths/~1store~1orders/get/responses/5XX/$ref
    expected: "#/components/responses/Gone"
    found:    "#/components/responses/ServerError"
    fix: cargo xtask generate; what is left then, xtask/contract drops or misreads
6 of 8 checks passed, 2 failed.
"##]],
    );
}

#[test]
fn a_plan_that_only_programs_read_is_a_problem() {
    found(
        V1.file,
        "\"requestsPerMinute\": 300",
        "\"requestsPerMinute\": 400",
        str![[r#"
Drift
...
✗ api/src emits spec/openapi.json and spec/openapi-v2.json
  spec/openapi.json#/info/x-plans/Pro/requestsPerMinute
    expected: 400
    found:    300
    fix: cargo xtask generate; what is left then, xtask/contract drops or misreads
✗ the texts of spec/openapi.json and spec/openapi-v2.json have the plans and codes that programs read
  spec/openapi.json#/info/description: found (-), expected (+)
    @@ [LINES] @@
     |---|---|---|
     | Free | 60 | 1,000 |
    -| Pro | 300 | 10,000 |
    +| Pro | 400 | 10,000 |
     | Business | 1,000 | 100,000 |
     | Enterprise | custom | custom |
    fix: edit the text, or x-plans
5 of 8 checks passed, 3 failed.
"#]],
    );
}

#[test]
fn a_code_without_its_section_is_a_problem() {
    found(
        V1.file,
        "### 404 *pet_not_found*\\n\\nThere is no such pet.",
        "",
        str![[r#"
Drift
...
✗ api/src emits spec/openapi.json and spec/openapi-v2.json
  spec/openapi.json#/info/description
    expected: …" is already cancelled.\n\n\n\n### 404 *not_found*\n\nThere is no such … ([NUMBER] characters)
    found:    …" is already cancelled.\n\n### 404 *pet_not_found*\n\nThere is no such … ([NUMBER] characters)
    fix: cargo xtask generate; what is left then, xtask/contract drops or misreads
✗ the texts of spec/openapi.json and spec/openapi-v2.json have the plans and codes that programs read
  spec/openapi.json#/info/description: found (-), expected (+)
    @@ [LINES] @@
     There is no such order, or it is already cancelled.
     
    +### 404 *pet_not_found*
    +
    +There is no such pet.
    +
     ### 404 *not_found*
     
    fix: edit the text, or x-extensible-enum and x-enumDescriptions
5 of 8 checks passed, 3 failed.
"#]],
    );
}

#[test]
fn a_code_with_another_status_is_a_problem() {
    found(
        V1.file,
        "### 429 *key_banned*",
        "### 403 *key_banned*",
        str![[r#"
Drift
...
✗ api/src emits spec/openapi.json and spec/openapi-v2.json
  spec/openapi.json#/info/description
    expected: …"`, then continue.\n\n### 403 *key_banned*\n\nThe key kept sending requ… ([NUMBER] characters)
    found:    …"`, then continue.\n\n### 429 *key_banned*\n\nThe key kept sending requ… ([NUMBER] characters)
    fix: cargo xtask generate; what is left then, xtask/contract drops or misreads
✗ the texts of spec/openapi.json and spec/openapi-v2.json have the plans and codes that programs read
  spec/openapi.json#/info/description: found (-), expected (+)
    @@ [LINES] @@
     A rate limit is exceeded. Wait for the time in `Retry-After`, then continue.
     
    -### 403 *key_banned*
    +### 429 *key_banned*
     
     The key kept sending requests after a 429 and is temporarily banned. Stop until the time in `Retry-After` has passed.
    fix: edit the text, or x-extensible-enum and x-enumDescriptions
5 of 8 checks passed, 3 failed.
"#]],
    );
}

#[test]
fn a_code_that_the_list_lacks_is_a_problem() {
    found(
        V1.file,
        "`key_banned`, `internal_error`",
        "`internal_error`",
        str![[r#"
Drift
...
✗ api/src emits spec/openapi.json and spec/openapi-v2.json
  spec/openapi.json#/components/schemas/Error/properties/code/description
    expected: …"`rate_limit_exceeded`, `internal_error`, `service_unavailable`, `inval… ([NUMBER] characters)
    found:    …"`rate_limit_exceeded`, `key_banned`, `internal_error`, `service_unavai… ([NUMBER] characters)
    fix: cargo xtask generate; what is left then, xtask/contract drops or misreads
✗ the texts of spec/openapi.json and spec/openapi-v2.json have the plans and codes that programs read
  spec/openapi.json#/components/schemas/Error/properties/code/description
    expected: Today's codes: `invalid_parameter`, `unauthorized`, `order_not_found`, `pet_not_found`, `not_found`, `method_not_allowed`, `order_already_shipped`, `rate_limit_exceeded`, `key_banned`, `internal_error`, `service_unavailable`, `invalid_request`, `request_timeout`, `request_too_large`, `uri_too_long`.
    found:    Today's codes: `invalid_parameter`, `unauthorized`, `order_not_found`, `pet_not_found`, `not_found`, `method_not_allowed`, `order_already_shipped`, `rate_limit_exceeded`, `internal_error`, `service_unavailable`, `invalid_request`, `request_timeout`, `request_too_large`, `uri_too_long`.
    fix: edit the text, or x-extensible-enum
5 of 8 checks passed, 3 failed.
"#]],
    );
}

/// What `--fix` wrote, what it left, and that a second one writes nothing.
#[track_caller]
fn fixed(checkout: &Checkout, expected: Inline) {
    let inputs = || Inputs::read(&checkout.repository, emitted);
    let mut out = Vec::new();
    let outcome = xtask::check::check(&inputs(), true, &mut out).unwrap();
    let text = left((outcome, crate::checkout::plain(&out)));
    assert_text(&text, expected);
    let again = left(run(&inputs()));
    let rest: String =
        text.split_inclusive('\n').filter(|line| !line.starts_with("Wrote")).collect();
    assert_eq!(again, rest);
}

#[test]
fn a_fix_writes_what_follows_from_the_documents() {
    let checkout = Checkout::with(&files());
    checkout.replace(V1.file, "\"openapi\": \"3.0.3\"", "\"openapi\":\"3.0.3\"");
    checkout.put(V1.contract, "");
    checkout.replace(CLIENT_DOCS, "# Retries", "# Repetitions");
    fixed(
        &checkout,
        str![[r#"
Clean
Wrote spec/openapi.json.
Wrote api/src/v1.rs.
Wrote api/client/README.md.
8 of 8 checks passed.
"#]],
    );
}

#[test]
fn a_fix_leaves_what_takes_a_decision() {
    let checkout = Checkout::with(&files());
    checkout.replace(V1.file, "\"Orders returned\"", "\"All orders\"");
    fixed(
        &checkout,
        str![[r#"
Drift
Wrote api/src/v1.rs.
✗ api/src emits spec/openapi.json and spec/openapi-v2.json
  spec/openapi.json#/paths/~1store~1orders/get/responses/200/description
    expected: "All orders"
    found:    "Orders returned"
    fix: cargo xtask generate; what is left then, xtask/contract drops or misreads
7 of 8 checks passed, 1 failed.
"#]],
    );
}

#[test]
fn a_fix_of_a_document_that_cannot_be_read_writes_nothing() {
    let checkout = Checkout::with(&files());
    let doubled = "\"openapi\": \"3.0.3\",\n  \"openapi\": \"3.0.3\",";
    checkout.replace(V1.file, "\"openapi\": \"3.0.3\",", doubled);
    checkout.put(V1.contract, "");
    fixed(
        &checkout,
        str![[r#"
CouldNotRun
? spec/openapi.json and spec/openapi-v2.json are in canonical form, with the programs of spec/samples: could not run
  spec/openapi.json#/openapi: stands twice in its object; remove one of the two
...
2 of 8 checks passed, 6 could not run.
"#]],
    );
    assert_eq!(checkout.repository.read(V1.contract).unwrap(), "");
}
