//! Tests the code generated from a document that uses every supported feature of OpenAPI. Dropshot
//! must serve the operations and emit the document again, except for the values that `unemitted`
//! lists.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]
#![expect(dead_code, reason = "the tests use only a part of the generated code")]

mod contract;

use contract::{
    AddBookError, AddBookSuccess, Api, Author, Book, BookGenre, BookType, Broken, GetBookError,
    GetBookPath, GetBookSuccess, ListBooksError, ListBooksGenre, ListBooksHeader, ListBooksQuery,
    ListBooksSuccess, NewBook, RemoveBookError, RemoveBookPath, RemoveBookSuccess,
};
use dropshot::{HttpServer, ServerBuilder};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use hyper::upgrade::OnUpgrade;
use serde_json::{Value, json};
use store_orders_api::{emission, operation, parameters, schemas};

const SOURCE: &str = "xtask/codegen/tests/subset/subset.json";
const ISBN: &str = "9780316769488";

type Request<'a> = operation::Request<'a, (), OnUpgrade>;

/// Handlers of a library of books. Most responses contain a value from the request, so that tests
/// can see what the handler received.
enum Library {}

fn book(isbn: &str, title: &str) -> Book {
    Book {
        isbn: isbn.to_string(),
        title: title.to_string(),
        genre: BookGenre::Novel,
        r#type: BookType::HardCover,
        page_count: None,
        copies: None,
        lent_at: None,
        authors: Some(vec![Author { name: "A".to_string(), born: None }]),
    }
}

impl Api for Library {
    type Context = ();
    /// Stands in for the caller, which a middleware normally adds to the request's extensions. The
    /// tests need no middleware, because hyper itself adds `OnUpgrade` to requests for an upgrade.
    type Caller = OnUpgrade;

    fn error_headers(status: StatusCode, code: &str, headers: &mut HeaderMap) {
        headers.insert("x-error", format!("{} {code}", status.as_u16()).parse().unwrap());
    }

    async fn list_books(
        _: Request<'_>,
        query: ListBooksQuery,
        _: ListBooksHeader,
    ) -> Result<ListBooksSuccess, ListBooksError> {
        match query.limit {
            1 => Ok(ListBooksSuccess::NotModified),
            2 => Err(Broken::Closed("Until noon.".to_string()))?,
            _ => {
                let books: Vec<_> = query.tag.iter().map(|tag| book(ISBN, tag)).collect();
                let x_total = Some(books.len().into());
                Ok(ListBooksSuccess::Ok { body: books.into(), x_total })
            }
        }
    }

    async fn add_book(_: Request<'_>, body: NewBook) -> Result<AddBookSuccess, AddBookError> {
        match body.copies {
            None => Err(AddBookError::BookExists(body.title)),
            Some(_) => {
                let location = HeaderValue::from_static("/1");
                Ok(AddBookSuccess::Created { body: book(ISBN, &body.title).into(), location })
            }
        }
    }

    async fn get_book(_: Request<'_>, path: GetBookPath) -> Result<GetBookSuccess, GetBookError> {
        Ok(GetBookSuccess::Ok(book(&path.isbn, "T").into()))
    }

    async fn remove_book(
        _: Request<'_>,
        _: RemoveBookPath,
    ) -> Result<RemoveBookSuccess, RemoveBookError> {
        Ok(RemoveBookSuccess::NoContent)
    }
}

fn document() -> Value {
    serde_json::from_str(include_str!("subset.json")).unwrap()
}

#[test]
fn each_leaf_is_emitted_or_has_a_known_kind() {
    let emitted = contract::emitted().unwrap();
    let problems = xtask::check::check_document("", &emitted, &document());
    let lines: Vec<_> = problems.iter().flat_map(|problem| problem.lines()).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

#[test]
fn progenitor_makes_a_client_of_it() {
    let document = document();
    let version = codegen::client::Version { document: &document, source: SOURCE, module: "v0" };
    let code = codegen::client::client(&[version], "cargo xtask generate").unwrap();
    let client = code.versions.concat();
    assert!(client.contains("pub async fn list_books"), "{client}");
    let setter = "    /// A tag that a book has.\n    pub fn tag(mut self";
    assert!(client.contains(setter), "{client}");
    assert!(code.values.contains("BookType, \"type\" {"), "{}", code.values);
}

#[test]
fn parameters_with_the_same_values_share_one_type() {
    let mut document = document();
    let genre = document.pointer("/paths/~1/get/parameters/1").unwrap().clone();
    assert_eq!(genre["name"], "genre");
    document["paths"]["/"]["post"]["parameters"] = json!([genre]);
    let server = codegen::server(&document, SOURCE, "cargo xtask generate").unwrap();
    assert_eq!(server.matches("pub genre: ListBooksGenre,").count(), 2, "{server}");
    let version = codegen::client::Version { document: &document, source: SOURCE, module: "v0" };
    let client = codegen::client::client(&[version], "cargo xtask generate").unwrap();
    let client = client.versions.concat();
    assert_eq!(client.matches("genre: impl Into<types::ListBooksGenre>").count(), 2, "{client}");
    assert!(server.contains("pub type AddBookGenre = ListBooksGenre;"), "{server}");
    assert!(!server.contains("enum AddBookGenre") && !client.contains("AddBookGenre"));
}

async fn start() -> HttpServer<()> {
    let api = contract::api_description::<Library>().unwrap();
    let log = slog::Logger::root(slog::Discard, slog::o!());
    ServerBuilder::new(api, (), log).start().unwrap()
}

#[tokio::test]
async fn an_unauthenticated_request_is_refused() {
    let server = start().await;
    let address = format!("http://{}/{ISBN}", server.local_addr());
    assert_eq!(reqwest::get(address).await.unwrap().status(), 500);
}

#[tokio::test]
async fn requests_and_answers_follow_the_document() {
    let server = start().await;
    let send = async |method: Method, path: &str, body: Value| {
        let address = format!("http://{}{path}", server.local_addr());
        let request = reqwest::Client::new().request(method, address);
        let request = request.header("connection", "upgrade").header("upgrade", "x");
        let request = if body.is_null() { request } else { request.json(&body) };
        let response = request.send().await.unwrap();
        let headers = ["x-error", "x-total", "location"];
        let headers = headers.map(|name| response.headers().get(name).cloned());
        let headers = headers.map(|value| value.map(|value| value.to_str().unwrap().to_string()));
        let status = response.status().as_u16();
        (status, headers, response.json::<Value>().await.unwrap_or_default())
    };
    let text = |text: &str| Some(text.to_string());
    let (status, headers, books) = send(Method::GET, "/?genre=novel&tag=a", Value::Null).await;
    assert_eq!((status, headers), (200, [None, text("1"), None]));
    let book = json!({ "isbn": ISBN, "title": "a", "genre": "novel", "type": "hard-cover",
        "authors": [{ "name": "A" }] });
    assert_eq!(books, json!([book]));
    assert_eq!(send(Method::GET, "/?genre=novel&limit=1", Value::Null).await.0, 304);
    let (status, [error, ..], body) = send(Method::GET, "/?genre=novel&limit=2", Value::Null).await;
    assert_eq!((status, error), (503, text("503 closed")));
    assert_eq!(body, json!({ "code": "closed", "message": "Until noon.", "status": 503 }));
    let new = json!({ "title": "T", "copies": 1 });
    let (status, headers, added) = send(Method::POST, "/", new).await;
    assert_eq!((status, headers, &added["title"]), (201, [None, None, text("/1")], &json!("T")));
    for (body, status, message) in [
        (json!({ "title": "T" }), 409, "T"),
        (
            json!({ "title": "" }),
            400,
            "The member title of the body must be a text that matches ^.{1,5}$",
        ),
        (json!({}), 400, "The body of the request is invalid: unable to parse JSON body: missing"),
    ] {
        let (answered, _, error) = send(Method::POST, "/", body).await;
        assert!(answered == status && error["message"].as_str().unwrap().starts_with(message));
    }
    let path = format!("/{ISBN}");
    assert_eq!(send(Method::GET, &path, Value::Null).await.2["isbn"], ISBN);
    assert_eq!(send(Method::GET, "/1", Value::Null).await.1[0], text("400 invalid"));
    assert_eq!(send(Method::DELETE, &path, Value::Null).await.0, 204);
    // The document lists no 400 for this operation, so the handlers' `error_headers` is not called.
    let (status, headers, body) = send(Method::DELETE, "/1", Value::Null).await;
    assert_eq!((status, headers[0].clone()), (400, None));
    assert!(body["message"].as_str().unwrap().contains("must be a text that matches"), "{body}");
}

fn list(query: &str) -> Result<ListBooksQuery, String> {
    use parameters::{Parameters, SentParameters};
    let sent = SentParameters::from_query(query, ListBooksQuery::NAMES);
    sent.and_then(|sent| ListBooksQuery::read(&sent)).map_err(|invalid| invalid.to_string())
}

#[test]
fn parameters_follow_their_schemas() {
    let query = list("genre=novel&tag=a&order=added&full=true").unwrap();
    assert_eq!((query.genre, query.tag.as_deref()), (ListBooksGenre::Novel, Some("a")));
    assert_eq!((query.limit, query.full), (10, true));
    for (query, message) in [
        ("tag=a", "The query parameter genre is missing. Send it."),
        (
            "genre=novel&min-pages=0",
            "The query parameter min-pages must be an integer of at least 1.",
        ),
    ] {
        assert_eq!(list(query).unwrap_err(), message);
    }
}

#[test]
fn bodies_follow_their_schemas() {
    let read = |body: Value| {
        let body: NewBook = serde_json::from_value(body).map_err(|error| error.to_string())?;
        operation::CheckedBody::check(&body).map_err(|invalid| invalid.to_string())
    };
    let whole = json!({ "title": "T", "copies": 1, "tags": ["a"], "state": "used",
        "itemCode": "a", "owner": { "name": "N" }, "authors": [{ "name": "N", "born": 1 }] });
    assert_eq!(read(whole.clone()), Ok(()));
    for (member, value, reason) in [
        ("title", json!(""), "The member title of the body must be a text that matches ^.{1,5}$."),
        ("copies", json!(0), "The member copies of the body must be an integer of at least 1."),
        ("copies", Value::Null, "invalid type: null, expected i64"),
        ("itemCode", json!("A"), "The member itemCode of the body must be a text that matches"),
        (
            "owner",
            json!({ "name": "Names" }),
            "The member name of the body must be a text that matches ^.{0,4}$",
        ),
        ("authors", json!([{ "name": "N" }, { "name": "Names" }]), "The member name of the body"),
        ("state", json!("old"), "unknown variant `old`"),
    ] {
        let mut body = whole.clone();
        body[member] = value;
        let error = read(body).unwrap_err();
        assert!(error.contains(reason), "{member}: {error}");
    }
}
