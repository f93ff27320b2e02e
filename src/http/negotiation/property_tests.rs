//! Tests that `accepts_gzip` agrees with the weights in a generated header (RFC 9110, 12.4.2 and
//! 12.5.3). A header of random bytes accepts gzip only if the header contains `gzip` or `*`.

use super::*;
use http::HeaderValue;
use proptest::prelude::*;

/// A content coding. The weight is in thousandths. `text` is the header element that contains both.
#[derive(Clone, Debug)]
struct Coding {
    name: &'static str,
    weight: Option<u16>,
    text: String,
}

/// Formats a weight as a `qvalue` (RFC 9110, 12.4.2), with up to `digits` more characters than
/// necessary.
fn qvalue(weight: u16, digits: usize) -> String {
    let full = format!("{}.{:03}", weight / 1_000, weight % 1_000);
    let shortest = full.trim_end_matches('0').trim_end_matches('.').len();
    // If the cut leaves a dot at the end, as in `0.` and `1.`, the weight is still valid.
    full[..(shortest + digits).min(full.len())].to_string()
}

fn coding(name: &'static str) -> impl Strategy<Value = Coding> {
    let blanks = || prop::sample::select(vec!["", "", " ", "\t", " \t "]);
    let weight = prop::option::of(prop_oneof![
        Just(0),
        Just(1_000),
        Just(1),
        (0..=1_000_u16),
        (0..=10_u16).prop_map(|tenths| tenths * 100),
    ]);
    let letters = any::<u8>();
    (weight, 0..4_usize, blanks(), blanks(), blanks(), letters, any::<bool>()).prop_map(
        move |(weight, digits, before, after, last, letters, upper_q)| {
            let set_case = |(position, letter): (usize, char)| {
                let upper = letters >> (position % 8) & 1 == 1;
                if upper { letter.to_ascii_uppercase() } else { letter }
            };
            let name_text: String = name.chars().enumerate().map(set_case).collect();
            let q = if upper_q { 'Q' } else { 'q' };
            let parameter = weight
                .map(|weight| format!("{before};{after}{q}={}", qvalue(weight, digits)))
                .unwrap_or_default();
            Coding { name, weight, text: format!("{before}{name_text}{parameter}{last}") }
        },
    )
}

/// Generates distinct codings and the header lines that contain them. Some elements of the header
/// are empty.
fn lines() -> impl Strategy<Value = (Vec<Coding>, Vec<String>)> {
    let names = ["gzip", "*", "br", "deflate", "identity", "zstd", "gzipped"];
    let alias = any::<bool>();
    let codings = names.map(|name| prop::option::weighted(0.5, coding(name)));
    let alias_coding = coding("x-gzip");
    (codings, alias_coding, alias, any::<u64>(), any::<u16>()).prop_map(
        |(codings, x_gzip, is_alias, order, breaks)| {
            let mut codings: Vec<Coding> = codings
                .into_iter()
                .flatten()
                .map(|coding| match coding.name {
                    "gzip" if is_alias => x_gzip.clone(),
                    _ => coding,
                })
                .collect();
            let count = codings.len().max(1);
            codings.rotate_left((order % count as u64) as usize);
            let mut lines = vec![String::new()];
            for (position, coding) in codings.iter().enumerate() {
                let (breaks, empty) = (breaks >> position & 1, breaks >> (position + 8) & 1);
                if breaks == 1 {
                    lines.push(String::new());
                }
                let line = lines.last_mut().unwrap();
                if !line.is_empty() {
                    line.push(',');
                }
                if empty == 1 {
                    line.push_str(" ,");
                }
                line.push_str(&coding.text);
            }
            (codings, lines)
        },
    )
}

fn headers(lines: impl IntoIterator<Item = impl AsRef<[u8]>>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines {
        let value = HeaderValue::from_bytes(line.as_ref()).unwrap();
        headers.append(header::ACCEPT_ENCODING, value);
    }
    headers
}

proptest! {
    #![proptest_config(testbed::property_config())]

    #[test]
    fn gzip_is_accepted_by_its_own_weight_or_the_wildcards((codings, lines) in lines()) {
        let weight = |names: &[&str]| {
            let coding = codings.iter().find(|coding| names.contains(&coding.name));
            coding.map(|coding| coding.weight.unwrap_or(1_000))
        };
        let expected = weight(&["gzip", "x-gzip"]).or(weight(&["*"])).unwrap_or(0) > 0;
        prop_assert_eq!(accepts_gzip(&headers(&lines)), expected, "{:?}", lines);
    }

    #[test]
    fn any_bytes_accept_gzip_only_if_they_contain_gzip_or_a_star(
        pieces in prop::collection::vec(
            prop_oneof![
                prop::sample::select(vec!["gzip", "*", ";q=", "0", "1", ".", ",", ";", " ", "=", "q"])
                    .prop_map(|piece| piece.as_bytes().to_vec()),
                prop::collection::vec(prop_oneof![Just(b'\t'), 0x20..0x7f_u8, 0x80..=0xff_u8], 0..4),
            ],
            0..12,
        ),
    ) {
        let value = pieces.concat();
        let text = String::from_utf8_lossy(&value).to_ascii_lowercase();
        let accepted = accepts_gzip(&headers([&value]));
        prop_assert!(!accepted || text.contains("gzip") || text.contains('*'), "{:?}", text);
    }
}
