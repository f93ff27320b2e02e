//! Finds out whether a 429 speaks of a ban, without using up its body.

use crate::ErrorCode;
use bytes::Bytes;
use futures::{StreamExt, stream};
use http_body_util::BodyExt;
use reqwest::{Body, Response, ResponseBuilderExt};

/// So much of a body is looked at. An Error body has some 200 bytes; what is
/// longer than this is none.
const LOOKED_AT: usize = 16 * 1024;

/// Whether this 429 speaks of a ban, and the same response with its whole body
/// still to be read.
///
/// A body that breaks off or is too long might speak of one, and counts as if
/// it did: to send on against a ban is what the ban punishes.
pub(crate) async fn look_for_ban(response: Response) -> (Response, bool) {
    let url = response.url().clone();
    let (mut parts, body) = http::Response::from(response).into_parts();
    // The conversion drops the URL, and can be told it only in this way.
    if let Ok(with_url) = http::Response::builder().url(url).body(()) {
        parts.extensions.extend(with_url.into_parts().0.extensions);
    }

    let mut rest = body.into_data_stream().fuse();
    let mut start: Vec<reqwest::Result<Bytes>> = Vec::new();
    let mut text: Vec<u8> = Vec::new();
    let mut whole = true;
    while let Some(chunk) = rest.next().await {
        text.extend_from_slice(chunk.as_deref().unwrap_or_default());
        whole = chunk.is_ok() && text.len() <= LOOKED_AT;
        start.push(chunk);
        if !whole {
            break;
        }
    }
    let banned = !whole || code(&text) == Some(ErrorCode::KeyBanned);
    let body = Body::wrap_stream(stream::iter(start).chain(rest));
    (http::Response::from_parts(parts, body).into(), banned)
}

/// The code in an Error body; what stands before the service may answer 429
/// with something else.
fn code(body: &[u8]) -> Option<ErrorCode> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    body.get("code")?.as_str().map(ErrorCode::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::Url;

    const BANNED: &str = r#"{"code":"key_banned","message":"Wait.","status":429}"#;

    fn answer(body: impl Into<Body>) -> Response {
        let url = Url::parse("https://orders.example/v1/store/orders").unwrap();
        let response = http::Response::builder().status(429).header("Retry-After", "9").url(url);
        Response::from(response.body(body.into()).unwrap())
    }

    #[tokio::test]
    async fn only_a_ban_is_a_ban() {
        for (body, expected) in [
            (BANNED.to_string(), true),
            (BANNED.replace("key_banned", "rate_limit_exceeded"), false),
            (String::new(), false),
            ("<html>key_banned</html>".to_string(), false),
            (" ".repeat(LOOKED_AT + 1), true),
        ] {
            let (response, banned) = look_for_ban(answer(body.clone())).await;
            assert_eq!(banned, expected, "{body}");
            assert_eq!(response.text().await.unwrap(), body);
        }
    }

    #[tokio::test]
    async fn everything_else_of_the_response_stays() {
        let (response, _) = look_for_ban(answer(BANNED)).await;
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()["Retry-After"], "9");
        assert_eq!(response.url().path(), "/v1/store/orders");
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_counts_as_a_ban_and_stays_broken() {
        let parts = [Ok(Bytes::from("{\"code\":")), Err(std::io::Error::other("cut"))];
        let body = Body::wrap_stream(stream::iter(parts));
        let (response, banned) = look_for_ban(answer(body)).await;
        assert!(banned);
        assert!(response.bytes().await.is_err());
    }
}
