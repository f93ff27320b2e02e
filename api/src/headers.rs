//! The response headers of the contract that the middleware sets.

use crate::documents::{DOCUMENTS, Document};
use crate::v1;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use std::sync::LazyLock;

/// The request limit in force.
pub static LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");

/// Requests remaining in the current window.
pub static REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");

/// Unix timestamp at which the limit resets.
pub static RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// Additionally on every response of a deprecated operation, besides `Link`: when it was
/// deprecated (RFC 9745), and when it may be removed (RFC 8594).
pub static ON_DEPRECATED: [(HeaderName, &str); 2] = [
    (HeaderName::from_static("deprecation"), v1::DEPRECATION_EXAMPLE),
    (HeaderName::from_static("sunset"), v1::SUNSET_EXAMPLE),
];

/// Where a deprecation is announced, relative to the server.
pub const DEPRECATION_LINK: &str = "</changelog>; rel=\"deprecation\"";

/// Sets `Link` on an error of this code: where to read on, in the API reference, at the address of
/// its code, and in the document, relative to the server.
pub fn link_error(code: &str, document: &Document, headers: &mut HeaderMap) {
    let mut all = LINKS.iter();
    let found = all.find(|(of, path, _)| *of == code && *path == document.path);
    if let Some((.., link)) = found {
        headers.insert(header::LINK, link.clone());
    }
}

/// `Link` of each code and each document, by its path.
static LINKS: LazyLock<Vec<(&'static str, &'static str, HeaderValue)>> = LazyLock::new(|| {
    let of = |document: &'static Document| {
        v1::ErrorCode::VALUES.iter().filter_map(move |(code, _)| {
            let Document { reference, path, .. } = document;
            let link = format!(
                "<{reference}#error-{code}>; rel=\"service-doc\", <{path}>; rel=\"service-desc\""
            );
            Some((*code, *path, HeaderValue::try_from(link).ok()?))
        })
    };
    DOCUMENTS.into_iter().flat_map(of).collect()
});

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;

    #[test]
    fn links_are_as_the_documents_show_them() {
        for (document, example) in
            DOCUMENTS.into_iter().zip([v1::LINK_EXAMPLE, crate::v2::LINK_EXAMPLE])
        {
            let mut headers = HeaderMap::new();
            link_error("unauthorized", document, &mut headers);
            assert_eq!(headers[header::LINK], example);
        }
    }

    #[test]
    fn the_dates_of_the_headers_are_those_of_the_document_and_of_the_changelog() {
        let [(_, deprecation), (_, sunset)] = &ON_DEPRECATED;
        let since = deprecation.trim_start_matches('@').parse().unwrap();
        let since = DateTime::from_timestamp(since, 0).unwrap().date_naive();
        let sunset = DateTime::parse_from_rfc2822(sunset).unwrap().date_naive();
        assert_eq!(sunset.to_string(), v1::GET_PET_SUNSET);
        let changelog = include_str!("../../CHANGELOG.md");
        let document = DOCUMENTS[0].json().unwrap();
        let introduction = document["info"]["description"].as_str().unwrap();
        let operation = document["paths"]["/pets/{petId}"]["get"]["description"].as_str().unwrap();
        for day in [since, sunset] {
            let day = day.format("%-d %B %Y").to_string();
            for text in [changelog, introduction, operation] {
                assert!(text.replace('\n', " ").contains(&day), "{day}: {text}");
            }
        }
        assert!(DEPRECATION_LINK.starts_with("</changelog>") && changelog.contains("`getPet`"));
    }
}
