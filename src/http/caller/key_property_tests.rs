//! Tests that `bearer` finds the same tokens as a simple parser (RFC 6750, 2.1). Also tests that
//! additional characters make a key invalid.

use super::*;
use crate::api_key::{ApiKey, Environment, digest_of};
use http::HeaderValue;
use proptest::prelude::*;

/// Returns the text after `Bearer` and one or more spaces, unless this text is empty.
fn token(value: &[u8]) -> Option<Vec<u8>> {
    let letters: String = value.iter().map(|byte| char::from(*byte)).collect();
    let (scheme, rest) = letters.split_once(' ')?;
    let token = rest.trim_start_matches(' ');
    (scheme.to_lowercase() == "bearer" && scheme.is_ascii() && !token.is_empty())
        .then(|| token.chars().map(|letter| letter as u8).collect())
}

fn headers(values: &[Vec<u8>]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(header::AUTHORIZATION, HeaderValue::from_bytes(value).unwrap());
    }
    headers
}

/// Generates bytes that a header value can contain.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(b'\t'), Just(b' '), 0x20..0x7f_u8, 0x80..=0xff_u8];
    prop::collection::vec(byte, 0..50)
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    let scheme = prop::sample::select(vec![
        "Bearer", "bearer", "BEARER", "bEaReR", "Bearer:", "Beare", "Basic", "", " Bearer",
        "\u{212a}",
    ]);
    let gap = prop::sample::select(vec![" ", "  ", "     ", "", "\t", " \t"]);
    let built = (scheme, gap, bytes())
        .prop_map(|(scheme, gap, rest)| [scheme.as_bytes(), gap.as_bytes(), &rest].concat());
    prop_oneof![3 => built, 1 => bytes()]
}

proptest! {
    #![proptest_config(testbed::property_config())]

    #[test]
    fn the_token_of_a_single_header_is_found(values in prop::collection::vec(value(), 0..4)) {
        let headers = headers(&values);
        let tokens: Vec<_> = values.iter().map(|value| token(value)).collect();
        let refuse = |refusal, key_sent| Unauthenticated::Refused { refusal, key_sent };
        let expected = match &tokens[..] {
            [Some(token)] => Ok(token.as_slice()),
            [] | [None] => Err(refuse(KeyRefusal::NoKey, false)),
            several => {
                Err(refuse(KeyRefusal::SeveralHeaders, several.iter().any(Option::is_some)))
            }
        };
        prop_assert_eq!(bearer(&headers), expected, "{:?}", values);
    }

    #[test]
    fn a_key_is_accepted_only_without_other_characters_around_it(
        spaces in 1..9_usize,
        letters in any::<[bool; 6]>(),
        around in prop::option::of(prop::sample::select(vec![",", "\"", "=", ";", " x", "\t"])),
        is_before in any::<bool>(),
    ) {
        let key = ApiKey::generate(Environment::Production);
        let scheme: String = "bearer"
            .chars()
            .zip(letters)
            .map(|(letter, upper)| if upper { letter.to_ascii_uppercase() } else { letter })
            .collect();
        let extra = around.unwrap_or_default();
        let (before, after) = if is_before { (extra, "") } else { ("", extra) };
        let value = format!("{scheme}{}{before}{}{after}", " ".repeat(spaces), key.expose());
        let headers = headers(&[value.into_bytes()]);
        let token = bearer(&headers).unwrap();
        let digest = digest_of(token, Environment::Production);
        prop_assert_eq!(digest, around.is_none().then(|| key.digest()));
    }
}
