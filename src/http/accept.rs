//! Parses `Accept-Encoding`.

use http::{HeaderMap, HeaderName, header};

/// Returns the elements of a header, such as `gzip` or `*`, with their weights. The default weight
/// is 1 (RFC 9110, 12.4.2).
fn quality_values(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = (&str, f32)> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(|element| {
        let mut parts = element.split(';').map(str::trim);
        let coding = parts.next().unwrap_or_default();
        (coding, parts.find_map(parse_weight).unwrap_or(1.0))
    })
}

fn parse_weight(parameter: &str) -> Option<f32> {
    let (name, weight) = parameter.split_once('=')?;
    name.trim().eq_ignore_ascii_case("q").then(|| weight.trim().parse().ok())?
}

/// True if the weight of `gzip` in `Accept-Encoding` is above 0. If `gzip` is absent, the weight of
/// `*` counts (RFC 9110, 12.5.3).
pub fn accepts_gzip(headers: &HeaderMap) -> bool {
    let (mut gzip, mut wildcard) = (None, None);
    for (coding, weight) in quality_values(headers, header::ACCEPT_ENCODING) {
        let is_accepted = Some(weight != 0.0);
        if coding.eq_ignore_ascii_case("gzip") || coding.eq_ignore_ascii_case("x-gzip") {
            gzip = is_accepted;
        } else if coding == "*" {
            wildcard = is_accepted;
        }
    }
    gzip.or(wildcard).unwrap_or(false)
}

#[cfg(test)]
mod property_tests;
