//! Content negotiation: whether the client accepts gzip.

use http::{HeaderMap, header};

/// Whether `Accept-Encoding` names gzip, or covers it with `*`, at a weight above
/// 0 (RFC 9110, 12.5.3).
pub fn accepts_gzip(headers: &HeaderMap) -> bool {
    let mut named = None;
    let mut any = None;
    let values = headers.get_all(header::ACCEPT_ENCODING).iter();
    for coding in values.filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(',')) {
        let mut parts = coding.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let refused = parts.any(is_zero_weight);
        if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") {
            named = Some(!refused);
        } else if name == "*" {
            any = Some(!refused);
        }
    }
    named.or(any).unwrap_or(false)
}

fn is_zero_weight(parameter: &str) -> bool {
    let Some((name, weight)) = parameter.split_once('=') else { return false };
    name.trim().eq_ignore_ascii_case("q") && weight.trim().parse::<f32>() == Ok(0.0)
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
