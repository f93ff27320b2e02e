//! The contract of a document with what the documents of this repository have not: it emits the
//! document, and dropshot serves it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]
#![expect(dead_code, reason = "no test uses everything")]

#[expect(clippy::large_enum_variant, reason = "the document has large records")]
mod contract;

use contract::{
    AddNoteBody, AddNoteError, AddNotePath, AddNoteQuery, AddNoteSuccess, AddThingError,
    AddThingSuccess, AnythingError, AnythingSuccess, Api, GetThingError, GetThingHeader,
    GetThingPath, GetThingSuccess, ListThingsError, ListThingsHeader, ListThingsQuery,
    ListThingsSuccess, NewThing, Origin, PictureError, PictureSuccess, SetPictureError,
    SetPicturePath, SetPictureSuccess, State, Thing, ThingId, ThingType,
};
use contract_runtime::{answer, emission, parameters, schemas};
use dropshot::{Body, HttpServer, ServerBuilder};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use serde_json::{Value, json};

type Request<'a, K> = answer::Request<'a, (), K>;

/// A shop with nothing to sell: it says what it was asked.
enum Shop {}

fn thing(id: &str) -> Thing {
    Thing {
        id: ThingId(id.to_string()),
        r#type: ThingType::Toy,
        state: State::SoldOut,
        origin: Origin::Made { by: "us".to_string() },
        weight: Some(1.5),
        sold: None,
        labels: None,
        size: None,
        home: None,
        more: None,
    }
}

impl Api for Shop {
    type Context = ();
    type Caller = ();

    fn error_headers(status: StatusCode, code: &str, headers: &mut HeaderMap) {
        headers.insert("x-error", format!("{} {code}", status.as_u16()).parse().unwrap());
    }

    async fn list_things(
        _: Request<'_, ()>,
        query: ListThingsQuery,
        header: ListThingsHeader,
    ) -> Result<ListThingsSuccess, ListThingsError> {
        match (query.limit, header.x_trace) {
            (1, _) => Ok(ListThingsSuccess::NotModified),
            (2, _) => Err(ListThingsError::Closed("Until noon.".to_string())),
            (_, trace) => {
                let tags = query.tag.into_iter().chain(trace);
                let things: Vec<_> = tags.map(|tag| thing(&tag)).collect();
                let x_total = Some(things.len().into());
                Ok(ListThingsSuccess::Ok { body: things.into(), x_total })
            }
        }
    }

    async fn add_thing(
        _: Request<'_, ()>,
        body: NewThing,
    ) -> Result<AddThingSuccess, AddThingError> {
        match body.count {
            1 => Ok(AddThingSuccess::Created(thing(&body.name).into())),
            _ => Err(AddThingError::ThingExists(body.name)),
        }
    }

    async fn get_thing(
        _: Request<'_, ()>,
        path: GetThingPath,
        header: GetThingHeader,
    ) -> Result<GetThingSuccess, GetThingError> {
        let etag = HeaderValue::from_static("\"1\"");
        match path.thing_id.0.as_str() {
            _ if header.if_none_match.is_some_and(|tags| tags.contains("\"1\"")) => {
                Ok(GetThingSuccess::NotModified { etag })
            }
            "gone" => Err(GetThingError::NotFound(thing("gone"))),
            "odd" => Err(GetThingError::Other(StatusCode::IM_A_TEAPOT)),
            id => Ok(GetThingSuccess::Ok { body: thing(id).into(), etag, x_maker: None }),
        }
    }

    async fn add_note(
        _: Request<'_, ()>,
        path: AddNotePath,
        query: AddNoteQuery,
        body: Option<AddNoteBody>,
    ) -> Result<AddNoteSuccess, AddNoteError> {
        let text = body.map_or("nothing".to_string(), |note| note.text);
        let times = if query.loud { 2 } else { 1 };
        let notes = [path.thing_id.0, path.part.to_string(), text.repeat(times)];
        Ok(AddNoteSuccess::Created(notes.to_vec().into()))
    }

    async fn set_picture(
        _: Request<'_, ()>,
        _: SetPicturePath,
        body: Vec<u8>,
    ) -> Result<SetPictureSuccess, SetPictureError> {
        assert_eq!(body, b"png");
        Ok(SetPictureSuccess::NoContent)
    }

    async fn picture(_: Request<'_, ()>) -> Result<PictureSuccess, PictureError> {
        Ok(PictureSuccess::Ok(Response::new(Body::from("png"))))
    }

    async fn anything(_: Request<'_, ()>) -> Result<AnythingSuccess, AnythingError> {
        Ok(AnythingSuccess::Any(answer::empty_response(StatusCode::ACCEPTED)))
    }
}

fn document() -> Value {
    serde_json::from_str(include_str!("shop.json")).unwrap()
}

#[test]
fn the_contract_emits_the_document() {
    let (emitted, expected) = (contract::document().unwrap(), document());
    for part in expected.as_object().unwrap().keys() {
        assert_eq!(emitted[part], expected[part], "{part}");
    }
    assert_eq!(emitted, expected);
}

#[test]
fn the_contract_is_what_is_generated() {
    let source = "xtask/contract/tests/shop/shop.json";
    let generated = ::contract::contract(&document(), source, "cargo xtask generate").unwrap();
    if std::env::var("SNAPSHOTS").as_deref() == Ok("overwrite") {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shop/contract.rs");
        std::fs::write(file, &generated).unwrap();
        return;
    }
    assert_eq!(include_str!("contract.rs"), generated, "SNAPSHOTS=overwrite writes it");
}

async fn start() -> HttpServer<()> {
    let api = contract::api_description::<Shop>().unwrap();
    let log = slog::Logger::root(slog::Discard, slog::o!());
    ServerBuilder::new(api, (), log).start().unwrap()
}

async fn send(
    server: &HttpServer<()>,
    method: &str,
    path: &str,
    body: Value,
) -> (u16, Value, String) {
    let address = format!("http://{}{path}", server.local_addr());
    let request = reqwest::Client::new().request(method.parse().unwrap(), address);
    let response = if body.is_null() { request } else { request.json(&body) }.send().await.unwrap();
    let error = response.headers().get("x-error").map(|error| error.to_str().unwrap().to_string());
    let status = response.status().as_u16();
    (status, response.json().await.unwrap_or_default(), error.unwrap_or_default())
}

#[tokio::test]
async fn an_operation_without_a_caller_is_served_by_dropshot_alone() {
    let server = start().await;
    let get = async |path: &str| send(&server, "GET", path, Value::Null).await;
    let (status, thing, _) = get("/things/abc").await;
    assert_eq!(status, 200);
    assert_eq!(
        thing,
        json!({
            "id": "abc", "type": "toy", "state": "sold-out", "origin": { "kind": "made", "by": "us" },
            "weight": 1.5, "sold": null
        })
    );
    let (status, body, error) = get("/things/gone").await;
    assert_eq!((status, &body["id"], error.as_str()), (404, &json!("gone"), "404"));
    let (status, ..) = get("/things/odd").await;
    assert_eq!(status, 418);
    // Its 400 has no text, so dropshot says what is wrong.
    let (status, body, _) = get("/things/ABC").await;
    assert_eq!(status, 400);
    assert!(body["message"].as_str().unwrap().contains("matches ^[a-z]+$"), "{body}");
    // No middleware has found out who asks.
    let (status, ..) = get("/things?limit=5").await;
    assert_eq!(status, 500);
}

#[tokio::test]
async fn headers_of_requests_and_successes_are_those_of_the_document() {
    let server = start().await;
    let address = format!("http://{}/things/abc", server.local_addr());
    let get = async |tags: &[&str]| {
        let request = reqwest::Client::new().get(&address);
        let request = tags.iter().fold(request, |of, tag| of.header("if-none-match", *tag));
        let response = request.send().await.unwrap();
        let headers = response.headers();
        let headers = ["etag", "x-maker"].map(|name| headers.get(name).cloned());
        (response.status().as_u16(), headers, response.text().await.unwrap())
    };
    let tag = || Some(HeaderValue::from_static("\"1\""));
    let (status, headers, body) = get(&[]).await;
    assert_eq!((status, headers, body.is_empty()), (200, [tag(), None], false));
    let (status, ..) = get(&["\"2\""]).await;
    assert_eq!(status, 200);
    // Lines are a list.
    assert_eq!(get(&["\"2\"", "\"1\""]).await, (304, [tag(), None], String::new()));
    let (status, _, body) = get(&["\"2\", \"3\"", "\"4\", \"5\", \"6\""]).await;
    assert_eq!(status, 400);
    assert!(body.contains("The header If-None-Match must be a text of at most 20"), "{body}");
}

#[tokio::test]
async fn a_body_may_be_absent_and_a_parameter_may_be_of_the_path() {
    let server = start().await;
    let path = "/things/abc/notes/4";
    let add = async |path: &str, body: Value| send(&server, "POST", path, body).await;
    let (status, notes, _) = add(path, Value::Null).await;
    assert_eq!((status, notes), (201, json!(["abc", "4", "nothing"])));
    let loud = format!("{path}?loud=true");
    let (_, notes, _) = add(&loud, json!({ "text": "new", "stars": 1.5 })).await;
    assert_eq!(notes, json!(["abc", "4", "newnew"]));
    for (body, reason) in [
        (json!({}), "missing field `text`"),
        (json!({ "text": "new", "stars": 0 }), "it must be a number of at least 1"),
    ] {
        let (status, error, _) = add(path, body).await;
        assert_eq!(status, 400);
        assert!(error["message"].as_str().unwrap().contains(reason), "{error}");
    }
    let (status, ..) = add("/things/ABC/notes/4", Value::Null).await;
    assert_eq!(status, 400);
}

/// What is read of a query and headers, without a server.
fn list(query: &str) -> Result<ListThingsQuery, String> {
    use parameters::{Parameters, SentParameters};
    let sent = SentParameters::of_query(query, ListThingsQuery::NAMES);
    sent.and_then(|sent| ListThingsQuery::read(&sent)).map_err(|invalid| invalid.to_string())
}

#[test]
fn parameters_are_those_of_their_schemas() {
    let query = list("tag=a&order=price&since=2026-12-24&min-price=0.5").unwrap();
    assert_eq!((query.tag.as_deref(), query.limit), (Some("a"), 10));
    assert_eq!(query.min_price, Some(0.5));
    for (query, message) in [
        ("limit=51", "The query parameter limit must be an integer from 1 to 50."),
        ("order=size", "The query parameter order must be name or price."),
        (
            "order=name&order=name",
            "The query parameter order was sent more than once. Send it once.",
        ),
        (
            "min-price=0.4",
            "The query parameter min-price must be a number of at least 0.5; write a + in it as %2B.",
        ),
        (
            "since=yesterday",
            "The query parameter since must be a date of RFC 3339, such as 2026-12-24.",
        ),
    ] {
        assert_eq!(list(query).unwrap_err(), message);
    }
}

#[test]
fn bodies_are_those_of_their_schemas() {
    let read =
        |body: Value| serde_json::from_value::<NewThing>(body).map_err(|error| error.to_string());
    assert_eq!(read(json!({ "name": "ball", "price": null })).unwrap().count, 1);
    for (body, reason) in [
        (json!({}), "missing field `name`"),
        (json!({ "name": "" }), "it must be a text of 1 to 5 characters"),
        (json!({ "name": "balloon" }), "it must be a text of 1 to 5 characters"),
        (json!({ "name": "ball", "count": 0 }), "it must be an integer of at least 1"),
        (json!({ "name": "ball", "tags": ["a", "b", "c"] }), "it must be a list of 0 to 2"),
        (json!({ "name": "ball", "price": -1 }), "it must be a number of at least 0.5"),
        (json!({ "name": "ball", "note": null }), "invalid type: null, expected a string"),
        (
            json!({ "name": "ball", "id": "A" }),
            "it must be a text of 2 to 8 characters that matches ^[a-z]+$",
        ),
        (json!({ "name": "ball", "size": 1 }), "unknown field `size`"),
    ] {
        let error = read(body.clone()).unwrap_err();
        assert!(error.contains(reason), "{body}: {error}");
    }
    let thing =
        json!({ "id": "abc", "type": "toy", "state": "on_sale", "origin": { "kind": "found" } });
    let error = serde_json::from_value::<Thing>(thing).unwrap_err().to_string();
    assert!(error.contains("missing field `sold`"), "{error}");
}
