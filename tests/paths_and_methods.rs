//! Tests the responses to unknown paths, and to methods that a path does not support.

use store_orders_api::plans::Plan;
use test_server::TestSetup;

/// The `Link` header of an error (RFC 8631).
fn error_link(code: &str) -> String {
    error_link_to("/openapi.json", code)
}

fn error_link_to(document: &str, code: &str) -> String {
    format!("</guide#{code}>; rel=\"service-doc\", <{document}>; rel=\"service-desc\"")
}

#[tokio::test]
async fn an_unknown_path_outside_the_versions_is_404_without_a_key_and_counts() {
    let setup = TestSetup::new().with_unauthenticated_per_minute(20);
    let key = setup.key(Plan::Business);
    let server = setup.serve().await;
    let paths = [
        "/docs//",
        "/docs/v99",
        "/openapi.yaml",
        "/.well-known/openid-configuration",
        "/v1",
        "/v99/store/orders",
        "/store/orders",
        "//v1/store/orders",
    ];
    let wrong_key = [("authorization", "Bearer x")];
    let mut remaining = 20;
    for (count, path) in paths.iter().enumerate() {
        for headers in [&[][..], &wrong_key] {
            let answer = server.send("GET", path, headers).await;
            answer.assert_error(404, "not_found");
            remaining -= 1;
            assert_eq!(answer.number("x-ratelimit-remaining"), remaining, "{path}");
            assert_eq!(answer.text("link"), error_link("not_found"), "{path}");
            assert!(!answer.headers.contains_key("www-authenticate"), "{path}");
        }
        let answer = server.send_with(&key, "GET", path).await;
        answer.assert_error(404, "not_found");
        assert_eq!(answer.number("x-ratelimit-remaining"), 999 - count as u64, "{path}");
    }
    for _ in 0..remaining {
        server.send("GET", "/docs/v99", &[]).await.assert_error(404, "not_found");
    }
    server.send("GET", "/docs/v99", &[]).await.assert_error(429, "rate_limit_exceeded");
    server.send_with(&key, "GET", "/docs/v99").await.assert_error(404, "not_found");
}

#[tokio::test]
async fn an_unknown_path_of_the_api_gets_a_documented_error_and_counts() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Business);
    let server = setup.serve().await;
    let paths = [
        "/v1/",
        "/v1/store",
        "/v1/store/orders/",
        "/v1//store/orders",
        "/v1/store/orders/1/2",
        "/v1/Store/orders",
        "/v1/store/orders%2F1",
        "/v1/pets",
        "/v1/openapi.json",
    ];
    for (count, path) in paths.iter().enumerate() {
        let answer = server.send_with(&key, "GET", path).await;
        answer.assert_error(404, "not_found");
        assert_eq!(answer.number("x-ratelimit-remaining"), 999 - count as u64, "{path}");
        assert_eq!(answer.text("link"), error_link("not_found"), "{path}");
        let answer = server.send("GET", path, &[]).await;
        answer.assert_error(401, "unauthorized");
        assert_eq!(answer.text("link"), error_link("unauthorized"), "{path}");
    }
}

/// By RFC 3986, section 6.2.2.2, a letter or digit is equivalent to its percent-encoded form.
#[tokio::test]
async fn an_encoded_letter_or_digit_of_a_path_is_equal_to_the_plain_one() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Business);
    let server = setup.serve().await;
    for path in ["/v%31/store/orders", "/%76%32/store/orders", "/v1/%73tore/orders"] {
        assert_eq!(server.send_with(&key, "GET", path).await.status, 200, "{path}");
    }
    for path in ["/v1%2Fstore/orders", "/%2Fv1/store/orders", "/v%2531/store/orders"] {
        server.send_with(&key, "GET", path).await.assert_error(404, "not_found");
    }
}

#[tokio::test]
async fn an_unknown_path_of_version_2_links_to_its_document() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Business);
    setup.pet(1, "Rex");
    let server = setup.serve().await;
    for path in ["/v2/pets/1", "/v2/store", "/v2/store/orders/", "/v2//store/orders"] {
        let answer = server.send_with(&key, "GET", path).await;
        let message = answer.assert_error(404, "not_found");
        let cause = if path.ends_with('/') { "leave it out" } else { " /openapi-v2.json " };
        assert!(message.contains(cause), "{message}");
        assert_eq!(answer.text("link"), error_link_to("/openapi-v2.json", "not_found"));
        assert!(!answer.headers.contains_key("deprecation"), "{path}");
    }
}

#[tokio::test]
async fn every_error_links_to_its_code_in_the_guide_and_to_the_document() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Business);
    setup.pending([1]).shipped(2);
    let server = setup.serve().await;
    for (method, path, status, linked) in [
        ("GET", "/v1/store/orders", 200, None),
        ("DELETE", "/v1/store/orders/1", 204, None),
        ("DELETE", "/v1/store/orders/1", 404, Some("order_not_found")),
        ("DELETE", "/v1/store/orders/2", 409, Some("order_already_shipped")),
        ("DELETE", "/v1/store/orders/x", 400, Some("invalid_parameter")),
        ("POST", "/v1/store/orders", 405, Some("method_not_allowed")),
        ("HEAD", "/v1/nothing", 404, Some("not_found")),
    ] {
        let answer = server.send_with(&key, method, path).await;
        assert_eq!(answer.status, status, "{method} {path}");
        let link = answer.headers.get("link").map(|link| link.to_str().unwrap());
        assert_eq!(link, linked.map(error_link).as_deref(), "{method} {path}");
    }
    let answer = server.send("GET", "/v1/store/orders", &[]).await;
    assert_eq!((answer.status.as_u16(), answer.text("link")), (401, &*error_link("unauthorized")));
    let answer = server.send_with(&key, "GET", "/v2/store/orders?pet=7").await;
    answer.assert_error(400, "invalid_parameter");
    let link = error_link_to("/openapi-v2.json", "invalid_parameter");
    assert_eq!(answer.text("link"), link);
}

#[tokio::test]
async fn another_method_gets_405_and_one_allow_header() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Business);
    setup.pending([1]);
    let server = setup.serve().await;
    for (path, allow) in [
        ("/v1/store/orders", "GET, HEAD"),
        ("/v1/store/orders/1", "DELETE"),
        ("/v1/pets/1", "GET, HEAD"),
    ] {
        for method in ["POST", "PUT", "PATCH", "OPTIONS", "TRACE", "GET", "HEAD", "DELETE"] {
            if allow.contains(method) {
                continue;
            }
            let answer = server.send_with(&key, method, path).await;
            if method == "HEAD" {
                assert_eq!(answer.status, 405);
                assert!(answer.body.is_empty());
            } else {
                answer.assert_error(405, "method_not_allowed");
            }
            assert_eq!(answer.headers.get_all("allow").iter().count(), 1);
            assert_eq!(answer.text("allow"), allow, "{method} {path}");
        }
    }
    assert_eq!(server.send_with(&key, "get", "/v1/store/orders").await.status, 405);
    assert_eq!(server.send_with(&key, "delete", "/v1/store/orders/1").await.status, 405);
    assert_eq!(server.client(&key).list_orders().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_404_or_405_says_which_path_to_use() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Business);
    let server = setup.serve().await;
    let outside = "There is no such path. Paths begin with /v1 or /v2. ";
    let slash = "There is no such path: it has a slash at its end; leave it out.";
    let unknown = "There is no such path. The API document at ";
    for (path, expected) in [
        ("/store/orders", outside),
        ("/v3/store/orders", outside),
        ("/v1/store/orders/", slash),
        ("/v1/store/orders/1/", slash),
        ("/v2/store/orders/?limit=1", slash),
        ("/v1/", unknown),
        ("/v1/store/", unknown),
        ("/v1/store/orders//", unknown),
    ] {
        let message = server.send_with(&key, "GET", path).await.assert_error(404, "not_found");
        assert!(message.starts_with(expected), "{path}: {message}");
    }
    let message = server.send("GET", "/store/orders", &[]).await.assert_error(404, "not_found");
    assert!(message.starts_with(outside), "{message}");

    let supported = "This path does not support this method. It supports: ";
    let later = " A later version has the method: getOrder, GET /v2/store/orders/{orderId}.";
    for (method, path, expected) in [
        ("GET", "/v1/store/orders/1", format!("{supported}DELETE.{later}")),
        ("PUT", "/v1/store/orders/1", format!("{supported}DELETE.")),
        ("DELETE", "/v1/pets/1", format!("{supported}GET, HEAD.")),
        ("POST", "/v2/store/orders", format!("{supported}GET, HEAD.")),
    ] {
        let answer = server.send_with(&key, method, path).await;
        assert_eq!(answer.assert_error(405, "method_not_allowed"), expected, "{method} {path}");
    }
}
