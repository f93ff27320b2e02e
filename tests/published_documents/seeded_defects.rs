//! Seeded defects. Each defect changes today's document and the server's responses in the same way.
//! The responses still agree with the document, so only the comparison with published documents
//! finds the defect.

use codegen::pointer::{component, take};
use serde_json::{Value, json};
use store_orders_api::documents::{COUNT, DOCUMENTS};
use test_server::wire_check::{Exchange, Operation, ReceivedResponse, WireCheck, wire_check};

/// A deliberate defect that breaks a published promise. The defect changes today's documents and
/// the recorded responses alike.
pub struct SeededDefect {
    pub what: &'static str,
    /// The start of the expected message: the document, the operation, and what is missing or
    /// wrong.
    pub found: &'static str,
    document: fn(&mut Documents),
    wire: fn(&mut [Exchange]),
}

pub struct Documents([Value; COUNT]);

impl Documents {
    fn today() -> Documents {
        Documents(DOCUMENTS.map(|document| document.json().unwrap()))
    }

    fn value(&mut self, version: usize, pointer: &str) -> &mut Value {
        let value = self.0[version - 1].pointer_mut(pointer);
        value.unwrap_or_else(|| panic!("version {version} has no {pointer}"))
    }

    fn take(&mut self, version: usize, pointer: &str) -> Value {
        let value = take(&mut self.0[version - 1], pointer);
        value.unwrap_or_else(|| panic!("version {version} has no {pointer}"))
    }

    fn unlist(&mut self, version: usize, pointer: &str, text: &str) {
        let list = self.value(version, pointer).as_array_mut().unwrap();
        let position = list.iter().position(|element| element == text);
        list.remove(position.unwrap_or_else(|| panic!("{pointer} does not list {text}")));
    }

    fn rename(&mut self, version: usize, pointer: &str, name: &str) {
        let value = self.take(version, pointer);
        let (parent, _) = pointer.rsplit_once('/').unwrap();
        self.value(version, parent)[name] = value;
    }
}

impl SeededDefect {
    pub fn apply(&self, exchanges: &[Exchange]) -> (WireCheck, Vec<Exchange>) {
        let mut documents = Documents::today();
        (self.document)(&mut documents);
        let mut exchanges = exchanges.to_vec();
        (self.wire)(&mut exchanges);
        (WireCheck::closed(&documents.0), exchanges)
    }
}

/// Applies `change` to the responses of these operations that have this status. 0 means any status.
fn each(
    exchanges: &mut [Exchange],
    operations: &[&str],
    status: u16,
    change: impl Fn(&mut ReceivedResponse),
) {
    for (sent, received) in exchanges {
        let operation = wire_check().operation(sent).map(|operation| operation.id.as_str());
        let matches = operation.is_some_and(|operation| operations.contains(&operation));
        if matches && (status == 0 || received.status == status) {
            change(received);
        }
    }
}

fn operations_that_share(response: &str) -> Vec<&'static str> {
    let refers = |operation: &&Operation| {
        let mut responses = operation.document["responses"].as_object().unwrap().values();
        operation.version() == "v1" && responses.any(|one| component(one) == Some(response))
    };
    let operations = wire_check().operations.iter().filter(refers);
    operations.map(|operation| operation.id.as_str()).collect()
}

fn body(received: &mut ReceivedResponse, change: impl Fn(&mut Value)) {
    if let Ok(mut body) = serde_json::from_slice(&received.body) {
        change(&mut body);
        received.body = body.to_string().into_bytes();
    }
}

fn each_order(exchanges: &mut [Exchange], change: impl Fn(&mut Value)) {
    each(exchanges, &["listOrders"], 200, |received| {
        body(received, |orders| orders.as_array_mut().unwrap().iter_mut().for_each(&change));
    });
}

fn code(received: &mut ReceivedResponse, from: &str, to: &str) {
    body(received, |error| {
        if error["code"] == from {
            error["code"] = json!(to);
        }
    });
}

fn status(received: &mut ReceivedResponse, status: u16) {
    received.status = status;
    body(received, |error| error["status"] = json!(status));
}

fn remove(value: &mut Value, name: &str) -> Value {
    value.as_object_mut().unwrap().remove(name).unwrap_or(Value::Null)
}

fn response(exchanges: &[Exchange], method: &str, target: &str) -> ReceivedResponse {
    let mut exchanges = exchanges.iter().filter(|(sent, _)| sent.method == method);
    exchanges.find(|(sent, _)| sent.target == target).unwrap().1.clone()
}

/// Replaces the responses to paths that begin with `path` with the 404 of an unknown path.
/// Responses with 401, 429 or 5xx stay, because they do not depend on the path.
fn lose_path(exchanges: &mut [Exchange], path: &str) {
    let not_found = response(exchanges, "GET", "/v1/store");
    for (sent, received) in exchanges {
        if sent.path().starts_with(path) && !matches!(received.status, 401 | 429 | 500..) {
            *received = not_found.clone();
            if sent.method == "HEAD" {
                received.body.clear();
            }
        }
    }
}

const fn seeded_defect(
    what: &'static str,
    found: &'static str,
    document: fn(&mut Documents),
    wire: fn(&mut [Exchange]),
) -> SeededDefect {
    SeededDefect { what, found, document, wire }
}

const ORDER: &str = "/components/schemas/Order/properties";
const CANCEL: &str = "/paths/~1store~1orders~1{orderId}/delete/responses";
const LIST: &str = "/paths/~1store~1orders/get/responses";
const CODES: &str = "/components/schemas/Error/properties/code/x-extensible-enum";

pub fn seeded_defects() -> Vec<SeededDefect> {
    [fields(), headers(), statuses(), paths(), version_2()].into_iter().flatten().collect()
}

/// Returns the wire check of today's documents with one addition. In version 1, the list operation
/// gets a header parameter with this name.
pub fn with_parameter_of_list(name: &str) -> WireCheck {
    let mut documents = Documents::today();
    let parameter = json!({ "in": "header", "name": name, "schema": { "type": "string" } });
    let list = documents.value(1, "/paths/~1store~1orders/get/parameters");
    list.as_array_mut().unwrap().push(parameter);
    WireCheck::closed(&documents.0)
}

fn fields() -> Vec<SeededDefect> {
    vec![
        seeded_defect(
            "a field that becomes optional",
            "1.0.0.json: listOrders 200: body/0: \"complete\" is a required property",
            |documents| {
                documents.unlist(1, "/components/schemas/Order/required", "complete");
            },
            |exchanges| {
                each_order(exchanges, |order| {
                    if order["id"] == 1 {
                        remove(order, "complete");
                    }
                });
            },
        ),
        seeded_defect(
            "an optional field that is gone",
            "1.0.0.json: listOrders 200 field Order.shipDate was promised",
            |documents| {
                documents.take(1, &format!("{ORDER}/shipDate"));
            },
            |exchanges| {
                each_order(exchanges, |order| {
                    remove(order, "shipDate");
                });
            },
        ),
        seeded_defect(
            "a date without its time",
            "1.0.0.json: listOrders 200: body/1/shipDate: ",
            |documents| {
                documents.take(1, &format!("{ORDER}/shipDate/format"));
            },
            |exchanges| {
                each_order(exchanges, |order| {
                    if order["shipDate"].is_string() {
                        order["shipDate"] = json!("2026-12-24");
                    }
                });
            },
        ),
    ]
}

fn headers() -> Vec<SeededDefect> {
    vec![
        seeded_defect(
            "a header gone from one status",
            "1.0.0.json: listOrders 401: x-request-id is missing",
            |documents| {
                let shared = documents.value(1, "/components/responses/Unauthorized").clone();
                documents.value(1, LIST)["401"] = shared;
                documents.take(1, &format!("{LIST}/401/headers/x-request-id"));
            },
            |exchanges| {
                each(exchanges, &["listOrders"], 401, |received| {
                    received.headers.remove("x-request-id");
                });
            },
        ),
        seeded_defect(
            "no Retry-After on 503",
            "1.0.0.json: cancelOrder 5XX header retry-after was promised",
            |documents| {
                documents.take(1, "/components/responses/ServerError/headers/Retry-After");
            },
            |exchanges| {
                let operations = operations_that_share("ServerError");
                each(exchanges, &operations, 503, |received| {
                    received.headers.remove("retry-after");
                });
            },
        ),
    ]
}

fn statuses() -> Vec<SeededDefect> {
    vec![
        seeded_defect(
            "a code with another name",
            "1.0.0.json: cancelOrder 404 code order_not_found was promised",
            |documents| {
                documents.unlist(1, CODES, "order_not_found");
                let examples = format!("{CANCEL}/404/content/application~1json/examples");
                documents.rename(1, &format!("{examples}/order_not_found"), "order_unknown");
            },
            |exchanges| {
                each(exchanges, &["cancelOrder"], 404, |received| {
                    code(received, "order_not_found", "order_unknown");
                });
            },
        ),
        seeded_defect(
            "200 instead of 204",
            "1.0.0.json: cancelOrder documents no such status (DELETE /v1/store/orders/1 was answered 200)",
            |documents| documents.rename(1, &format!("{CANCEL}/204"), "200"),
            |exchanges| each(exchanges, &["cancelOrder"], 204, |received| status(received, 200)),
        ),
    ]
}

fn paths() -> Vec<SeededDefect> {
    vec![
        seeded_defect(
            "a query parameter that was ignored and is refused",
            "1.0.0.json: listOrders documents no such status (GET /v1/store/orders?limit=1 was answered 400)",
            |documents| {
                let refused = documents.value(1, &format!("{CANCEL}/400")).clone();
                documents.value(1, LIST)["400"] = refused;
            },
            |exchanges| {
                let refused = response(exchanges, "DELETE", "/v1/store/orders/x");
                for (sent, received) in exchanges {
                    if sent.path() == "/v1/store/orders" && sent.target.contains('?') {
                        *received = refused.clone();
                    }
                }
            },
        ),
        removed_operation(),
    ]
}

/// Returns a defect that removes the operation `getPet`. After the operation's sunset, the removal
/// is allowed.
pub fn removed_operation() -> SeededDefect {
    seeded_defect(
        "an operation that is gone before its sunset",
        "1.0.0.json: getPet 200 was promised",
        |documents| {
            documents.take(1, "/paths/~1pets~1{petId}");
            documents.unlist(1, CODES, "pet_not_found");
        },
        |exchanges| {
            lose_path(exchanges, "/v1/pets");
            let listed: Vec<_> = exchanges
                .iter()
                .filter(|(sent, _)| sent.method == "GET" && sent.path() == "/v1/store/orders")
                .map(|(_, received)| received.clone())
                .collect();
            each(exchanges, &["getPet"], 0, |received| {
                let same = listed.iter().find(|listed| listed.status == received.status);
                *received = same.unwrap_or(received).clone();
            });
        },
    )
}

fn lost_filter() -> SeededDefect {
    seeded_defect(
        "a filter that is gone",
        "2.0.0.json: v2/listOrders parameter complete was promised",
        |documents| {
            let parameters = documents.value(2, "/paths/~1store~1orders/get/parameters");
            parameters.as_array_mut().unwrap().retain(|one| one["name"] != "complete");
        },
        |exchanges| {
            let refused = response(exchanges, "GET", "/v2/store/orders?pet=7");
            for (sent, received) in exchanges {
                let is_list = sent.path() == "/v2/store/orders";
                if is_list && sent.target.contains("complete=") && received.status == 200 {
                    *received = refused.clone();
                }
            }
        },
    )
}

const LISTED: &str = "/components/schemas/ListedOrder/properties";

fn split_order_schema(documents: &mut Documents) {
    let order = documents.value(2, "/components/schemas/Order").clone();
    documents.value(2, "/components/schemas")["ListedOrder"] = order;
    documents.take(2, &format!("{LISTED}/cancelledAt"));
    documents.unlist(2, &format!("{LISTED}/status/x-extensible-enum"), "cancelled");
    *documents.value(2, "/components/schemas/OrderPage/properties/orders/items/$ref") =
        json!("#/components/schemas/ListedOrder");
}

fn each_listed_order(exchanges: &mut [Exchange], change: impl Fn(&mut Value)) {
    each(exchanges, &["v2/listOrders"], 200, |received| {
        body(received, |page| page["orders"].as_array_mut().unwrap().iter_mut().for_each(&change));
    });
}

fn version_2() -> Vec<SeededDefect> {
    vec![
        seeded_defect(
            "a listed value that one operation alone loses",
            "2.0.0.json: v2/listOrders 200 value Order.status shipped was promised",
            |documents| {
                split_order_schema(documents);
                documents.unlist(2, &format!("{LISTED}/status/x-extensible-enum"), "shipped");
            },
            |exchanges| {
                each_listed_order(exchanges, |order| {
                    if order["status"] == "shipped" {
                        order["status"] = json!("sent");
                    }
                });
            },
        ),
        lost_filter(),
    ]
}
