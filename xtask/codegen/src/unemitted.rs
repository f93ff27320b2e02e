//! Lists the values of a document that dropshot cannot emit from the generated types. For each kind
//! of value, the list names the checks and tests that cover the server's behavior.
//!
//! A test checks that the table in `api/UPSTREAM.md` is equal to this list.

use std::sync::LazyLock;

/// A kind of values that dropshot cannot emit. Only leaves (scalars and empty containers) have a
/// kind.
#[derive(Debug)]
pub struct Kind {
    /// The kind's name in the table of `api/UPSTREAM.md`.
    pub name: &'static str,
    /// Patterns of the values' JSON pointers:
    ///
    /// - `*` is any token.
    /// - `x-*` is a token that begins with `x-`.
    /// - `4??` is a token of three characters that begins with 4.
    /// - `**` is any number of tokens, even none.
    pub places: &'static [&'static str],
    /// The checks and tests that prove that the server behaves as the values at `places` say.
    pub proof: &'static str,
}

pub const KINDS: &[Kind] = &[
    Kind {
        name: "`x-` fields",
        places: &["**/x-*/**"],
        proof: "plans and codes are constants of the generated code, and `check` holds the texts \
                against them; samples run in `tests/samples.rs`; the rules of compatibility know \
                `x-stability`, `x-sunset` and `x-extensible-enum`",
    },
    Kind {
        name: "texts on the API and its operations",
        places: &[
            "/info/description",
            "/info/contact/**",
            "/info/license/**",
            "/externalDocs/**",
            "/tags/**",
            "/paths/*/*/description",
            "/paths/*/*/responses/*/content/*/schema/title",
        ],
        proof: "`check` compares their codes and bounds, and those and the plans in the guide, with \
                `x-plans`, the listed codes and the schemas, and tests of `api` compare the guide \
                with the constants of rate limits and keys; each change of a document needs a new \
                version",
    },
    Kind {
        name: "servers and security",
        places: &["/servers/**", "/security/**", "/components/securitySchemes/**"],
        proof: "`check` holds the paths of servers against the version and the table of versions; \
                the test of every documented answer sends requests with and without a key",
    },
    Kind {
        name: "examples",
        places: &["**/example/**", "**/examples/**"],
        proof: "`check` validates them against their schemas; those of errors are the codes and \
                messages of the generated code",
    },
    Kind {
        name: "headers of responses",
        places: &["/paths/*/*/responses/*/headers/**", "/components/headers/**"],
        proof: "the wire check of every response in every test, and the test of every documented \
                answer, which must have seen each",
    },
    Kind {
        name: "errors and further successes",
        places: &[
            "/paths/*/*/responses/304/**",
            "/paths/*/*/responses/4??/**",
            "/paths/*/*/responses/5??/**",
            "/components/responses/**",
        ],
        proof: "handlers can return only these, or the code does not compile; the wire check, and \
                the test of every documented answer",
    },
    Kind {
        name: "defaults of parameters",
        places: &["/paths/*/*/parameters/*/schema/default"],
        proof: "they are in the generated code; tests of behaviour, such as `tests/order_pages.rs`",
    },
];

static PLACES: LazyLock<Vec<(Vec<&str>, &Kind)>> = LazyLock::new(|| {
    let tokens = |place: &'static str| place.split('/').filter(|token| !token.is_empty()).collect();
    let with_kind =
        |kind: &'static Kind| kind.places.iter().map(move |place| (tokens(place), kind));
    KINDS.iter().flat_map(with_kind).collect()
});

/// Returns the kind of the value at this JSON pointer, or `None` if dropshot emits the value.
pub fn kind_of(pointer: &str) -> Option<&'static Kind> {
    let tokens: Vec<&str> = pointer.split('/').skip(1).collect();
    PLACES.iter().find(|(place, _)| matches(place, &tokens)).map(|(_, kind)| *kind)
}

fn matches(place: &[&str], tokens: &[&str]) -> bool {
    match (place, tokens) {
        ([], []) => true,
        (["**", rest @ ..], _) => (0..=tokens.len())
            .any(|skipped| tokens.get(skipped..).is_some_and(|tokens| matches(rest, tokens))),
        ([pattern, rest @ ..], [token, tokens @ ..]) => {
            token_matches(pattern, token) && matches(rest, tokens)
        }
        _ => false,
    }
}

fn token_matches(pattern: &str, token: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => token.starts_with(start),
        None => {
            pattern.len() == token.len()
                && pattern
                    .bytes()
                    .zip(token.bytes())
                    .all(|(one, other)| one == b'?' || one == other)
        }
    }
}
