//! The response headers for the rate limit, for deprecation, and for links from errors to their
//! documentation.

use crate::documents::{DOCUMENTS, Document};
use crate::v1;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use std::sync::LazyLock;

/// `X-RateLimit-Limit`, the request limit in force.
pub static LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");

/// `X-RateLimit-Remaining`, the requests remaining in the current window.
pub static REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");

/// `X-RateLimit-Reset`, the Unix timestamp at which the limit resets.
pub static RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// The headers that announce the deprecation (RFC 9745) and the earliest removal (RFC 8594) of an
/// operation. Their values are the example dates in the document.
pub static ON_DEPRECATED: [(HeaderName, &str); 2] = [
    (HeaderName::from_static("deprecation"), v1::DEPRECATION_EXAMPLE),
    (HeaderName::from_static("sunset"), v1::SUNSET_EXAMPLE),
];

/// The value of `Link` for deprecated operations. The address is relative to the server.
pub const DEPRECATION_LINK: &str = "</changelog>; rel=\"deprecation\"";

/// Links an error to the guide's section on the error's code, and to the document.
pub fn link_error(code: &str, document: &Document, headers: &mut HeaderMap) {
    let mut all = LINKS.iter();
    let entry = all.find(|(other, path, _)| *other == code && *path == document.path);
    if let Some((.., link)) = entry {
        headers.insert(header::LINK, link.clone());
    }
}

/// The `Link` values, by error code and path of the document.
static LINKS: LazyLock<Vec<(&'static str, &'static str, HeaderValue)>> = LazyLock::new(|| {
    let links = |document: &'static Document| {
        (document.error_codes)().into_iter().filter_map(move |code| {
            let path = document.path;
            let link =
                format!("</guide#{code}>; rel=\"service-doc\", <{path}>; rel=\"service-desc\"");
            Some((code, path, HeaderValue::try_from(link).ok()?))
        })
    };
    DOCUMENTS.into_iter().flat_map(links).collect()
});

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;
    use serde_json::Value;

    fn target<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
        let reference = value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
        reference.map_or(value, |pointer| document.pointer(pointer).unwrap())
    }

    #[test]
    fn links_match_the_documents_examples() {
        for document in DOCUMENTS {
            let json = document.json().unwrap();
            let paths = json["paths"].as_object().unwrap().values();
            let operations = paths.flat_map(|path| path.as_object().unwrap().values());
            let responses = operations.flat_map(|one| one["responses"].as_object().unwrap());
            for (status, response) in responses.filter(|(status, _)| status.starts_with(['4', '5']))
            {
                let response = target(&json, response);
                let examples = response.pointer("/content/application~1json/examples").unwrap();
                let code = examples.as_object().unwrap().keys().next().unwrap();
                let example =
                    target(&json, &response["headers"]["Link"])["example"].as_str().unwrap();
                let mut headers = HeaderMap::new();
                link_error(code, document, &mut headers);
                let link = headers[header::LINK].to_str().unwrap();
                let announced = format!("{DEPRECATION_LINK}, {link}");
                assert!([link, &announced].contains(&example), "{status} {code}: {example}");
            }
        }
    }

    #[test]
    fn the_dates_match_the_document_and_the_changelog() {
        let [(_, deprecation), (_, sunset)] = &ON_DEPRECATED;
        let since = deprecation.trim_start_matches('@').parse().unwrap();
        let since = DateTime::from_timestamp(since, 0).unwrap().date_naive();
        let sunset = DateTime::parse_from_rfc2822(sunset).unwrap().date_naive();
        assert_eq!(sunset.to_string(), v1::GET_PET_SUNSET);
        let changelog = include_str!("../../CHANGELOG.md");
        let guide = include_str!("../../spec/guide.md");
        let document = DOCUMENTS[0].json().unwrap();
        let operation = document["paths"]["/pets/{petId}"]["get"]["description"].as_str().unwrap();
        for day in [since, sunset] {
            let day = day.format("%-d %B %Y").to_string();
            for text in [changelog, guide, operation] {
                assert!(text.replace('\n', " ").contains(&day), "{day}: {text}");
            }
        }
        assert!(DEPRECATION_LINK.starts_with("</changelog>") && changelog.contains("`getPet`"));
    }
}
