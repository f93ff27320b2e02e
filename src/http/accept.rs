//! Content negotiation: the encodings that a client accepts.

use http::{HeaderMap, HeaderName, header};

/// The elements of this header, such as `gzip` or `*`, each with its weight: 1 if it has none
/// (RFC 9110, 12.4.2).
fn quality_values(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = (&str, f32)> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(|element| {
        let mut parts = element.split(';').map(str::trim);
        let named = parts.next().unwrap_or_default();
        (named, parts.find_map(weight).unwrap_or(1.0))
    })
}

fn weight(parameter: &str) -> Option<f32> {
    let (name, weight) = parameter.split_once('=')?;
    name.trim().eq_ignore_ascii_case("q").then(|| weight.trim().parse().ok())?
}

/// Whether `Accept-Encoding` names gzip, or covers it with `*`, at a weight above
/// 0 (RFC 9110, 12.5.3).
pub fn accepts_gzip(headers: &HeaderMap) -> bool {
    let (mut named, mut any) = (None, None);
    for (coding, weight) in quality_values(headers, header::ACCEPT_ENCODING) {
        let is_accepted = Some(weight != 0.0);
        if coding.eq_ignore_ascii_case("gzip") || coding.eq_ignore_ascii_case("x-gzip") {
            named = is_accepted;
        } else if coding == "*" {
            any = is_accepted;
        }
    }
    named.or(any).unwrap_or(false)
}

#[cfg(test)]
mod property_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_accepted_when_named_or_covered() {
        for (value, accepted) in [
            ("gzip", true),
            ("GZIP", true),
            ("deflate, gzip;q=0.5", true),
            ("*", true),
            ("br, *;q=0.1", true),
            ("gzip;q=0", false),
            ("gzip; q=0.000", false),
            ("*, gzip;q=0", false),
            ("identity", false),
            ("br", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, value.parse().unwrap());
            assert_eq!(accepts_gzip(&headers), accepted, "{value:?}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }
}
