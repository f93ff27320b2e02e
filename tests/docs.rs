//! Tests the public pages over plain HTTP, with their links and security headers. `cargo xtask
//! browser` opens the pages in a browser.

use codegen::pointer::resolve_references;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashSet};
use std::io::Read;
use store_orders_api::documents::DOCUMENTS;
use store_orders_api::errors::{self, ErrorCode};
use store_orders_api::plans::Plan;
use test_server::wire_check::{public_pages, wire_check};
use test_server::{Answer, TestServer, TestSetup};
use testbed::{CliSandbox, ServerProcess};

const GZIP: (&str, &str) = ("accept-encoding", "br, gzip;q=0.9");

fn sources<'a>(answer: &'a Answer, directive: &str) -> Option<Vec<&'a str>> {
    let policy = answer.text("content-security-policy");
    let mut directives = policy.split(';').map(|part| part.split_whitespace().collect::<Vec<_>>());
    directives.find(|words| words[0] == directive).map(|words| words[1..].to_vec())
}

fn links(page: &str) -> Vec<&str> {
    let parts = page.split("src=\"").skip(1).chain(page.split("href=\"").skip(1));
    parts.map(|part| part.split('"').next().unwrap()).collect()
}

async fn text(server: &TestServer, path: &str) -> String {
    String::from_utf8(server.send("GET", path, &[]).await.body).unwrap()
}

#[tokio::test]
async fn pages_need_no_key_and_are_not_counted() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Free);
    let server = setup.serve().await;
    for (path, kind) in public_pages() {
        let page = server.send("GET", path, &[]).await;
        assert_eq!((page.status.as_u16(), page.text("content-type")), (200, kind), "{path}");
        assert!(!page.body.is_empty(), "{path}");
        let head = server.send("HEAD", path, &[]).await;
        assert_eq!(head.status, 200, "{path}");
        assert_eq!(head.number("content-length"), page.body.len() as u64, "{path}");
        assert!(head.body.is_empty(), "{path}");
        assert_eq!(head.text("etag"), page.text("etag"), "{path}");
        assert_eq!(server.send_with(&key, "GET", path).await.body, page.body, "{path}");
        let post = server.send_with(&key, "POST", path).await;
        assert_eq!((post.status.as_u16(), post.text("allow")), (405, "GET, HEAD"), "{path}");
    }
    for counted in [server.list_with(&key).await, server.send("GET", "/v1", &[]).await] {
        let (limit, remaining, _) = counted.rate_limit();
        assert_eq!(remaining, limit - 1);
    }
}

#[tokio::test]
async fn the_served_document_has_its_operators_addresses_and_contact() {
    let mut setup = TestSetup::new();
    setup.config.document.production_url = Some("https://orders.test/v1".parse().unwrap());
    setup.config.document.contact_url = Some("https://orders.test/help".to_string());
    let server = setup.serve().await;
    // The addresses in the document must not depend on the request's `Host` header.
    let host = ("host", "elsewhere.example");
    let document = server.send("GET", "/openapi.json", &[host]).await.json();
    let addresses = document["servers"].as_array().unwrap();
    assert_eq!((addresses.len(), &addresses[0]["url"]), (1, &json!("https://orders.test/v1")));
    assert_eq!(document["info"]["contact"], json!({ "url": "https://orders.test/help" }));
}

/// The reference page and tools such as Postman prefill requests with the documents' examples. So a
/// reader's first request usually repeats an example.
#[tokio::test]
async fn the_demo_answers_the_examples_of_its_documents_at_their_address() {
    let sandbox = CliSandbox::new();
    let mut demo = sandbox.command(&["demo", "--listen", "127.0.0.1:0"]);
    let demo = ServerProcess::start(&mut demo, &sandbox.path("log")).unwrap();
    let key = demo.printed_after("KEY=").unwrap();
    let client = reqwest::Client::new();
    for served in DOCUMENTS {
        let url = format!("{}{}", demo.origin(), served.path);
        let document: Value = client.get(url).send().await.unwrap().json().await.unwrap();
        let base_url = document["servers"][0]["url"].as_str().unwrap();
        assert_eq!(base_url, format!("{}{}", demo.origin(), served.base_path));
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let mut url = format!("{base_url}{path}?");
                let mut headers = Vec::new();
                for parameter in operation["parameters"].as_array().into_iter().flatten() {
                    let name = parameter["name"].as_str().unwrap();
                    let example = &parameter["example"];
                    let value =
                        example.as_str().map_or_else(|| example.to_string(), str::to_string);
                    match parameter["in"].as_str().unwrap() {
                        "path" => url = url.replace(&format!("{{{name}}}"), &value),
                        "query" => url = format!("{url}{name}={value}&"),
                        _ => headers.push((name, value)),
                    }
                }
                let mut request = client.request(method.to_uppercase().parse().unwrap(), &url);
                for (name, value) in headers {
                    request = request.header(name, value);
                }
                let answer = request.bearer_auth(key).send().await.unwrap();
                let (status, body) = (answer.status(), answer.text().await.unwrap());
                // Both versions cancel the same order. Version 1 comes first, so version 2 finds no
                // pending order.
                let expected = if method != "delete" {
                    200
                } else if served.is_first() {
                    204
                } else {
                    404
                };
                assert_eq!(status, expected, "{method} {url}: {body}");
                assert!(!body.contains("\"orders\":[]"), "{url}: {body}");
            }
        }
    }
}

#[tokio::test]
async fn scripts_of_any_site_may_read_only_the_documents() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Free);
    let server = setup.serve().await;
    let allowed = "access-control-allow-origin";
    for (path, _) in public_pages() {
        let page = server.send("GET", path, &[("origin", "https://tools.example")]).await;
        let is_document = path.starts_with("/openapi");
        assert_eq!(page.headers.contains_key(allowed), is_document, "{path}");
        if is_document {
            assert_eq!(page.text(allowed), "*");
            let tag = page.text("etag").to_string();
            let unchanged = server.send("GET", path, &[("if-none-match", &tag)]).await;
            assert_eq!((unchanged.status.as_u16(), unchanged.text(allowed)), (304, "*"));
        }
    }
    let list = server.send_with(&key, "GET", "/v1/store/orders").await;
    assert!(!list.headers.contains_key(allowed));
}

#[tokio::test]
async fn gzip_is_the_same_page_under_another_tag() {
    let server = TestSetup::new().serve().await;
    for (path, _) in public_pages() {
        let plain = server.send("GET", path, &[]).await;
        let zipped = server.send("GET", path, &[GZIP]).await;
        assert!(!plain.headers.contains_key("content-encoding"), "{path}");
        assert_eq!(zipped.text("content-encoding"), "gzip", "{path}");
        assert_eq!(zipped.text("vary"), "Accept-Encoding", "{path}");
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(&zipped.body[..]).read_to_end(&mut text).unwrap();
        assert!(text == plain.body, "{path} differs between its two forms");
        assert_ne!(zipped.text("etag"), plain.text("etag"), "{path}");
    }
}

#[tokio::test]
async fn a_matching_tag_gets_304() {
    let server = TestSetup::new().serve().await;
    for (path, _) in public_pages() {
        let tag = server.send("GET", path, &[GZIP]).await.text("etag").to_string();
        for known in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".into()] {
            for method in ["GET", "HEAD"] {
                let headers = [GZIP, ("if-none-match", known.as_str())];
                let answer = server.send(method, path, &headers).await;
                assert_eq!(answer.status, 304, "{method} {path} {known}");
                assert!(answer.body.is_empty());
                assert_eq!(answer.text("etag"), tag);
                assert!(!answer.headers.contains_key("content-length"), "{method} {path}");
            }
        }
        // Neither request gets a 304. The first has the tag of the gzip form, but asks for the
        // plain form. The second has an unknown tag.
        for (headers, status) in [
            (vec![("if-none-match", tag.as_str())], 200),
            (vec![GZIP, ("if-none-match", "\"other\"")], 200),
        ] {
            assert_eq!(server.send("GET", path, &headers).await.status, status, "{path}");
        }
    }
}

#[tokio::test]
async fn pages_load_only_from_their_own_origin_and_cannot_be_framed() {
    let server = TestSetup::new().serve().await;
    for (path, kind) in public_pages() {
        let page = server.send("GET", path, &[]).await;
        assert_eq!(sources(&page, "default-src").unwrap(), ["'none'"], "{path}");
        assert_eq!(sources(&page, "frame-ancestors").unwrap(), ["'none'"], "{path}");
        for directive in ["connect-src", "font-src", "img-src", "script-src"] {
            let sources = sources(&page, directive).unwrap_or_default();
            assert!(matches!(sources[..], [] | ["'self'"]), "{path}: {directive} {sources:?}");
        }
        assert_eq!(page.text("x-content-type-options"), "nosniff");
        assert_eq!(page.text("referrer-policy"), "no-referrer");
        assert_eq!(page.text("x-frame-options"), "DENY");
        if kind.starts_with("text/html") {
            let text = String::from_utf8(page.body).unwrap();
            // No page may have inline scripts or styles. This also applies to a reference page,
            // although its content security policy allows inline styles.
            assert!(text.split("<script").skip(1).all(|tag| tag.starts_with(" src=\"/")), "{path}");
            assert!(!text.contains("style=") && !text.contains("<style"), "{path}");
            assert!(!links(&text).is_empty());
            for link in links(&text) {
                assert!(link.starts_with(['/', '#']) && !link.starts_with("//"), "{path}: {link}");
                if link.starts_with('/') {
                    assert_eq!(server.send("GET", link, &[]).await.status, 200, "{link}");
                }
            }
        }
    }
}

#[tokio::test]
async fn without_javascript_the_reference_is_the_whole_document_as_text() {
    let server = TestSetup::new().serve().await;
    for served in DOCUMENTS {
        let page = text(&server, served.reference).await;
        assert!(!page.contains("<noscript") && !page.contains("{base_urls}"), "{page}");
        assert!(page.contains(&format!("<code>{}</code>", served.base_path)), "no base URL");
        let document = server.send("GET", served.path, &[]).await.json();
        assert!(page.contains("<a href=\"/guide\">guide</a>"), "{page}");
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let tag = operation["tags"][0].as_str().unwrap();
                let anchor = format!("tag/{tag}/{}{path}", method.to_uppercase());
                let shown = section(&page, &anchor);
                for text in required_html(&document, operation) {
                    assert!(shown.contains(&text), "{}: {anchor} lacks {text}", served.reference);
                }
            }
        }
        for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
            let shown = section(&page, &format!("models/{name}"));
            for field in schema["properties"].as_object().unwrap().keys() {
                assert!(shown.contains(&format!("<code>{field}</code>")), "{name}.{field}");
            }
        }
    }
}

fn section<'p>(page: &'p str, anchor: &str) -> &'p str {
    let heading = format!("<h3 id=\"{anchor}\">");
    let matches: Vec<_> = page.match_indices(&heading).collect();
    assert_eq!(matches.len(), 1, "{heading}");
    let section = &page[matches[0].0..];
    let rest = heading.len();
    let ends = ["<h2 ", "<h3 ", "</main>"].iter().filter_map(|end| section[rest..].find(end));
    &section[..rest + ends.min().unwrap()]
}

/// Returns pieces of HTML that must be in the operation's section of the reference.
fn required_html(document: &Value, operation: &Value) -> Vec<String> {
    let code = |value: &Value| format!("<code>{}</code>", value.as_str().unwrap());
    let mut texts = vec![
        format!(">{}</a> <span class=\"badge\">", operation["summary"].as_str().unwrap()),
        code(&operation["operationId"]),
    ];
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        texts.push(format!(
            "{} in {}",
            code(&parameter["name"]),
            parameter["in"].as_str().unwrap()
        ));
    }
    for sample in operation["x-codeSamples"].as_array().unwrap() {
        let [lang, label, source] = ["lang", "label", "source"].map(|key| sample[key].as_str());
        let source = source.unwrap().replace('&', "&amp;").replace('<', "&lt;");
        let source = source.replace('>', "&gt;");
        texts.push(format!(
            "<summary>{}</summary>\n<pre><code class=\"language-{}\">{source}\n</code>",
            label.unwrap(),
            lang.unwrap()
        ));
    }
    for (status, response) in operation["responses"].as_object().unwrap() {
        let response = resolve_references(document, response);
        let description = response["description"].as_str().unwrap().split('`').next().unwrap();
        texts.push(format!("<strong>{status}</strong> {}", description.trim_end_matches('.')));
        let examples = &response["content"]["application/json"]["examples"];
        for code in examples.as_object().into_iter().flat_map(|codes| codes.keys()) {
            texts.push(format!("<a href=\"/guide#{code}\">{code}</a>"));
        }
    }
    texts
}

#[tokio::test]
async fn the_plain_reference_lists_every_response_header() {
    let server = TestSetup::new().serve().await;
    for served in DOCUMENTS {
        let page = text(&server, served.reference).await;
        let document = server.send("GET", served.path, &[]).await.json();
        let headers = page.split("<h2 id=\"headers\">").nth(1).unwrap();
        let headers = headers.split("<h2 ").next().unwrap();
        let everywhere = headers.split("</p>").next().unwrap();
        let responses: Vec<_> = responses(&document).collect();
        for name in
            responses.iter().filter_map(|one| one["headers"].as_object()).flat_map(|all| all.keys())
        {
            assert!(headers.contains(&format!("<li><code>{name}</code>: ")), "{name}");
        }
        for name in ["X-RateLimit-Limit", "x-request-id", "Cache-Control"] {
            assert!(everywhere.contains(&format!("<code>{name}</code>")), "{everywhere}");
        }
        let list = section(&page, "tag/orders/GET/store/orders");
        let (_, listed) = list.split_once("<strong>200</strong> ").unwrap();
        let (listed, _) = listed.split_once("</li>").unwrap();
        assert!(
            listed.contains("<code>ETag</code>") && !listed.contains("x-request-id"),
            "{listed}"
        );
    }
}

fn responses(document: &Value) -> impl Iterator<Item = Value> {
    let paths = document["paths"].as_object().unwrap().values();
    let operations = paths.flat_map(|path| path.as_object().unwrap().values());
    let responses = operations.flat_map(|one| one["responses"].as_object().unwrap().values());
    responses.map(|response| resolve_references(document, response))
}

/// Returns the limit for the size of a reference page after gzip, in bytes. For the current
/// documents, this limit is about 12,000.
fn most_bytes(document: &Value) -> usize {
    let paths = document["paths"].as_object().unwrap().values();
    let operations: Vec<_> = paths.flat_map(|path| path.as_object().unwrap().values()).collect();
    let parameters = operations.iter().filter_map(|one| one["parameters"].as_array());
    let parameters: usize = parameters.map(Vec::len).sum();
    let codes = &document["components"]["schemas"]["Error"]["properties"]["code"];
    let codes = codes["x-extensible-enum"].as_array().unwrap().len();
    4_050 + 2_000 * operations.len() + 50 * parameters + 100 * codes
}

#[tokio::test]
async fn the_plain_reference_is_small_and_has_no_broken_link() {
    let server = TestSetup::new().serve().await;
    for served in DOCUMENTS {
        let document = server.send("GET", served.path, &[]).await.json();
        let zipped = server.send("GET", served.reference, &[GZIP]).await.body.len();
        let most = most_bytes(&document);
        assert!(zipped < most, "{} has {zipped} bytes, not less than {most}", served.reference);
        let page = text(&server, served.reference).await;
        let ids = page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        let ids: Vec<_> = ids.collect();
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len(), "{ids:?}");
        let links = links(&page);
        for anchor in links.iter().filter_map(|link| link.strip_prefix('#')) {
            let anchor = percent_decode_str(anchor).decode_utf8().unwrap();
            assert!(ids.contains(&&*anchor), "#{anchor}");
        }
    }
    let newest = server.send("GET", "/docs/v2", &[]).await.body;
    for path in ["/", "/docs"] {
        assert_eq!(server.send("GET", path, &[]).await.body, newest, "{path}");
    }
}

/// The guide's sections, in order. Anchors are derived from these titles, so a changed title breaks
/// links to its section.
const SECTIONS: [&str; 10] = [
    "Getting started",
    "Authentication",
    "Pagination and filters",
    "Errors",
    "Rate limits and bans",
    "Retrying safely",
    "Conditional requests (ETag)",
    "Versions and deprecation",
    "From version 1 to 2",
    "Programs to copy",
];

#[tokio::test]
async fn the_guide_has_its_sections_and_each_error_code_and_links_lead_somewhere() {
    let server = TestSetup::new().serve().await;
    let page = text(&server, "/guide").await;
    let (_, rest) = page.split_once("<nav class=\"guide-contents\"").unwrap();
    let (contents, body) = rest.split_once("</nav>").unwrap();
    let titles = body.split("<h2 ").skip(1).map(|rest| {
        let (_, title) = rest.split("</a>").next().unwrap().rsplit_once('>').unwrap();
        title
    });
    assert_eq!(titles.collect::<Vec<_>>(), SECTIONS);
    for title in SECTIONS {
        assert!(contents.contains(&format!(">{title}</a>")), "{title}");
    }
    for word in ["pagination", "authentication", "etag", "rate limit", "retrying", "python"]
        .into_iter()
        .chain(["cursor", "429", "filter", "deprecated"])
    {
        assert!(contents.to_lowercase().contains(word), "{word}");
    }
    assert!(body.contains("<h2 id=\"rate-limits-and-bans\">"), "{body}");
    for served in DOCUMENTS {
        let document = server.send("GET", served.path, &[]).await.json();
        let meanings = "/components/schemas/Error/properties/code/x-enumDescriptions";
        for (code, meaning) in document.pointer(meanings).unwrap().as_object().unwrap() {
            assert!(contents.contains(&format!("<a href=\"#{code}\">")), "{code}");
            let words: Vec<_> = section(&page, code).split_whitespace().collect();
            let meaning = meaning.as_str().unwrap().split('`').next().unwrap();
            assert!(words.join(" ").contains(meaning.trim_end()), "{code}");
        }
    }
    let ids: Vec<_> =
        page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len(), "{ids:?}");
    for anchor in links(&page).iter().filter_map(|link| link.strip_prefix('#')) {
        assert!(ids.contains(&anchor), "#{anchor}");
    }
    // A column with an empty heading would have no name in screen readers.
    assert!(page.contains("<th>") && !page.contains("<th></th>"), "{page}");
}

#[tokio::test]
async fn the_link_of_an_error_leads_to_its_section_in_the_guide() {
    let server = TestSetup::new().serve().await;
    for served in DOCUMENTS {
        let path = format!("{}/store/orders", served.base_path);
        let answer = server.send("GET", &path, &[]).await;
        let link = answer.text("link").trim_start_matches('<').split('>').next().unwrap();
        let (path, anchor) = link.split_once('#').unwrap();
        assert_eq!((path, anchor), ("/guide", "unauthorized"));
        let page = text(&server, path).await;
        assert!(section(&page, anchor).contains("Check the key"), "{page}");
    }
}

/// Client generators copy `info.description` into the head of each file that they generate, so it
/// must be short.
#[tokio::test]
async fn the_description_of_a_document_is_one_short_paragraph_that_leads_to_the_guide() {
    let server = TestSetup::new().serve().await;
    for served in DOCUMENTS {
        let document = server.send("GET", served.path, &[]).await.json();
        let description = document["info"]["description"].as_str().unwrap();
        assert!(description.len() <= 600 && !description.contains('\n'), "{description}");
        assert!(description.contains("`Authorization: Bearer <API_KEY>`"), "{description}");
        assert_eq!(description.split("](").skip(1).collect::<Vec<_>>().len(), 1, "{description}");
        assert!(description.contains("[guide](/guide)"), "{description}");
        assert_eq!(document["externalDocs"]["url"], "/guide");
    }
}

#[tokio::test]
async fn the_reference_of_each_version_names_its_document_and_leads_to_the_others() {
    let server = TestSetup::new().serve().await;
    for (path, document, name) in
        [("/docs/v1", "/openapi.json", "v1 (older)"), ("/docs/v2", "/openapi-v2.json", "v2")]
    {
        let page = text(&server, path).await;
        let service = format!("<link rel=\"service-desc\" href=\"{document}\"");
        assert!(page.contains(&service), "{page}");
        assert_eq!(page.matches("/openapi").count(), page.matches(document).count(), "{page}");
        let current: Vec<_> = page.split("aria-current=\"page\"").collect();
        assert!(current.len() == 2 && current[0].ends_with(&format!("<a href=\"{path}\" ")));
        assert!(page.contains(">v1 (older)</a>") && page.contains(">v2</a>"), "{page}");
        assert!(page.contains(&format!("<title>Store Orders API {name}</title>")), "{page}");
        let banner = "an older version. New programs use <a href=\"/docs/v2\">v2</a>.";
        assert_eq!(page.contains(banner), path == "/docs/v1", "{page}");
    }
}

#[tokio::test]
async fn the_scalar_bundle_contains_its_licence() {
    let server = TestSetup::new().serve().await;
    let bundle = text(&server, "/docs/scalar.js").await;
    let notice = bundle.split("*/").next().unwrap();
    assert!(notice.starts_with("/*!") && notice.contains("Copyright (c) 2023-present Scalar"));
    assert!(notice.contains("MIT License") && bundle.contains("createApiReference"));
    assert!(!bundle.contains("sourceMappingURL="));
}

#[tokio::test]
async fn the_deprecated_operation_links_to_the_changelog_page_that_names_it() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Free);
    let server = setup.serve().await;
    let answer = server.send_with(&key, "GET", "/v1/pets/1").await;
    let link = answer.text("link").trim_start_matches('<').split('>').next().unwrap();
    let page = text(&server, link).await;
    assert!(page.starts_with("<!doctype html>") && page.contains("<code>getPet</code>"));
    let version = store_orders_api::API_VERSION;
    assert!(page.contains(&format!("id=\"{version}\"")), "no section of {version}");
}

#[tokio::test]
async fn a_trailing_slash_redirects_to_the_page() {
    let server = TestSetup::new().serve().await;
    for method in ["GET", "HEAD"] {
        for page in ["/docs", "/docs/v1", "/docs/v2", "/guide", "/changelog"] {
            let answer = server.send(method, &format!("{page}/"), &[]).await;
            assert_eq!((answer.status.as_u16(), answer.text("location")), (308, page), "{method}");
            assert!(answer.body.is_empty() && !answer.headers.contains_key("x-ratelimit-limit"));
        }
    }
    assert_eq!(server.send("PUT", "/docs/", &[]).await.text("allow"), "GET, HEAD");
}

#[tokio::test]
async fn crawlers_are_kept_only_from_the_api() {
    let server = TestSetup::new().serve().await;
    let text = text(&server, "/robots.txt").await;
    let rules: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let disallowed = DOCUMENTS.map(|document| format!("Disallow: {}/", document.base_path));
    assert_eq!(rules[0], "User-agent: *");
    assert_eq!(rules[1..], disallowed);
}

#[tokio::test]
async fn the_summary_for_language_models_describes_the_served_document() {
    let mut setup = TestSetup::new();
    setup.config.document.production_url = Some("https://orders.test/v1".parse().unwrap());
    setup.config.document.contact_name = Some("Cats & Dogs".to_string());
    setup.config.document.contact_email = Some("help@orders.test".to_string());
    let server = setup.serve().await;
    let page = text(&server, "/llms.txt").await;
    assert!(page.starts_with("# Store Orders API\n\n> "), "{page}");
    assert!(page.contains("Base URL: `https://orders.test/v2`"), "{page}");
    let document = server.send("GET", "/openapi-v2.json", &[]).await.json();
    let version = document["info"]["version"].as_str().unwrap();
    assert!(page.contains(&format!("Version {version}.")), "{page}");
    for served in DOCUMENTS {
        let document = server.send("GET", served.path, &[]).await.json();
        let paths = document["paths"].as_object().unwrap().values();
        for operation in paths.flat_map(|path| path.as_object().unwrap().values()) {
            for sample in operation["x-codeSamples"].as_array().unwrap() {
                assert!(page.contains(sample["source"].as_str().unwrap()), "{sample}");
            }
        }
    }
    for target in page.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
        let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
        let page = server.send("GET", path, &[]).await;
        assert_eq!(page.status, 200, "{target}");
        let text = String::from_utf8(page.body).unwrap();
        assert!(anchor.is_empty() || text.contains(&format!(" id=\"{anchor}\"")), "{target}");
    }
    let reference = text(&server, "/docs").await;
    assert!(reference.contains("Base URL: <code>https://orders.test/v2</code> (Production"));
    assert!(reference.contains("<li>Contact: Cats &amp; Dogs, help@orders.test</li>"));
}

fn text_in<'a>(element: roxmltree::Node<'a, '_>, name: &str) -> &'a str {
    let children: Vec<_> =
        element.children().filter(|child| child.has_tag_name((ATOM, name))).collect();
    assert_eq!(children.len(), 1, "{name} in {element:?}");
    children[0].text().unwrap()
}

fn link_in<'a>(element: roxmltree::Node<'a, '_>, relation: &str) -> &'a str {
    let links = element.children().filter(|child| child.has_tag_name((ATOM, "link")));
    let links: Vec<_> = links.filter(|link| link.attribute("rel") == Some(relation)).collect();
    assert_eq!(links.len(), 1, "{relation} in {element:?}");
    links[0].attribute("href").unwrap()
}

const ATOM: &str = "http://www.w3.org/2005/Atom";

#[tokio::test]
async fn the_feed_has_an_entry_for_each_version_of_the_changelog() {
    let server = TestSetup::new().serve().await;
    let page = text(&server, "/changelog").await;
    assert!(page.contains("type=\"application/atom+xml\""), "{page}");
    let feed = text(&server, "/changelog.atom").await;
    let feed = roxmltree::Document::parse(&feed).unwrap();
    let feed = feed.root_element();
    assert!(feed.has_tag_name((ATOM, "feed")));
    assert_eq!(link_in(feed, "self"), "/changelog.atom");
    assert_eq!(link_in(feed, "alternate"), "/changelog");
    assert!(!text_in(feed, "title").is_empty());
    let author = feed.children().find(|child| child.has_tag_name((ATOM, "author"))).unwrap();
    assert!(!text_in(author, "name").is_empty());
    let entries: Vec<_> =
        feed.children().filter(|child| child.has_tag_name((ATOM, "entry"))).collect();
    let mut ids = vec![text_in(feed, "id")];
    let mut updated = Vec::new();
    for entry in &entries {
        ids.push(text_in(*entry, "id"));
        updated.push(text_in(*entry, "updated"));
        assert!(chrono::DateTime::parse_from_rfc3339(updated.last().unwrap()).is_ok());
        let (path, section) = link_in(*entry, "alternate").split_once('#').unwrap();
        assert_eq!(path, "/changelog");
        assert!(page.contains(&format!("id=\"{section}\"")), "{section}");
        assert_eq!(text_in(*entry, "title"), format!("Store Orders API {section}"));
        let content = entry.children().find(|child| child.has_tag_name((ATOM, "content"))).unwrap();
        assert_eq!(content.attribute("type"), Some("html"));
        assert!(content.text().unwrap().contains("<li>"), "{content:?}");
    }
    assert_eq!(entries.len(), page.matches("<time ").count());
    assert_eq!(updated.iter().max(), Some(&text_in(feed, "updated")));
    assert!(ids.iter().all(|id| id.starts_with("urn:uuid:")), "{ids:?}");
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 1 + entries.len());
}

#[tokio::test]
async fn the_changelog_has_the_removal_date_of_the_deprecated_operation() {
    let server = TestSetup::new().serve().await;
    let page = text(&server, "/changelog").await;
    let section = page.split("id=\"deprecated\"").nth(1).unwrap().split("<h2").next().unwrap();
    let words: Vec<_> = section.split_whitespace().collect();
    let words = words.join(" ");
    assert!(words.contains("<code>getPet</code>") && words.contains("deprecated from "), "{words}");
    assert!(words.contains(", removed no earlier than "), "{words}");
    assert!(page.contains("<a href=\"#deprecated\">"), "{page}");
}

/// Checks that the document lists the codes of the errors that nginx itself sends (see
/// `nginx-conf`).
#[test]
fn the_document_has_the_error_codes_of_the_proxy() {
    let configuration = testbed::CliSandbox::new().run(&["nginx-conf"]).done();
    let (_, map) = configuration.split_once("map $status $store_orders_code {").unwrap();
    let mut codes = BTreeSet::new();
    for line in map.lines().skip(1).take_while(|line| line.trim() != "}") {
        let (status, code) = line.trim().trim_end_matches(';').split_once(' ').unwrap();
        let listed = ErrorCode::VALUES.iter().find(|(listed, _)| *listed == code.trim());
        let (_, listed) = listed.unwrap_or_else(|| panic!("{code} is not listed"));
        let expected = if status == "default" { "503" } else { status };
        assert_eq!(errors::status(*listed).as_str(), expected, "{code}");
        codes.insert(code.trim());
    }
    // Both nginx and the server send these two codes. `proxy_codes` returns only the codes that the
    // server does not send.
    for code in ["method_not_allowed", "service_unavailable"] {
        assert!(codes.remove(code), "{code}");
    }
    assert!(!codes.is_empty());
    assert_eq!(codes, wire_check().proxy_codes());
}
