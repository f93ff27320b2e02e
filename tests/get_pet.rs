//! Tests the deprecated `GET /pets/{petId}`.

use test_server::{Answer, TestSetup};

const SERVICE_DESC: &str = "</openapi.json>; rel=\"service-desc\"";

fn assert_deprecated(answer: &Answer) {
    assert_eq!(answer.text("deprecation"), "@1796083200");
    assert_eq!(answer.text("sunset"), "Wed, 01 Dec 2027 00:00:00 GMT");
    let links: Vec<_> = answer.text("link").split(", ").collect();
    assert_eq!(answer.headers.get_all("link").iter().count(), 1);
    assert_eq!(links[0], "</changelog>; rel=\"deprecation\"");
    // An error response of this path also has the two links that every error response has.
    let service =
        |code| [format!("</guide#{code}>; rel=\"service-doc\""), SERVICE_DESC.to_string()];
    match answer.status.as_u16() {
        400 => assert_eq!(links[1..], service("invalid_parameter")),
        401 => assert_eq!(links[1..], service("unauthorized")),
        404 => assert_eq!(links[1..], service("pet_not_found")),
        405 => assert_eq!(links[1..], service("method_not_allowed")),
        429 => assert_eq!(links[1..], service("rate_limit_exceeded")),
        _ => assert_eq!(links.len(), 1),
    }
}

#[tokio::test]
async fn every_response_of_the_path_announces_its_removal() {
    let setup = TestSetup::new();
    let key = setup.enterprise_key(5, 100);
    setup.pet(7, "Rex");
    let server = setup.serve().await;
    for (method, path, status) in [
        ("GET", "/v1/pets/7", 200),
        ("HEAD", "/v1/pets/7", 200),
        ("GET", "/v1/pets/8", 404),
        ("GET", "/v1/pets/x", 400),
        ("POST", "/v1/pets/7", 405),
        ("GET", "/v1/pets/7", 429),
    ] {
        let answer = server.send_with(&key, method, path).await;
        assert_eq!(answer.status, status, "{method} {path}");
        assert_deprecated(&answer);
        answer.assert_common_headers();
    }
    let answer = server.send("GET", "/v1/pets/7", &[]).await;
    answer.assert_error(401, "unauthorized");
    assert_deprecated(&answer);
    for path in ["/v1/store/orders", "/v1/pets"] {
        let answer = server.send_with(&key, "GET", path).await;
        assert!(!answer.headers.contains_key("deprecation"), "{path}");
    }
}
