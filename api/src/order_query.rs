//! The query parameters of v2's list: filters, page size and cursor. Unlike those of v1, which
//! ignores all, they are checked: a mistyped filter must not list everything.

use crate::errors::{Code, Error};
use crate::types::{OrderStatus, parse_date_time, plain_int64, utc_text};
use chrono::{DateTime, Utc};
use dropshot::{
    ExtractorMetadata, HttpError, Query, RequestContext, ServerContext, SharedExtractor,
};
use schemars::JsonSchema;
use schemars::r#gen::SchemaGenerator;
use schemars::schema::{InstanceType, NumberValidation, Schema, SchemaObject};
use serde::Deserialize;
use serde_json::json;
use std::fmt::Write;

/// How many orders a page has unless the request says otherwise.
pub const DEFAULT_LIMIT: usize = 100;

/// How many orders a page has at most: about 100 KiB.
pub const MAX_LIMIT: usize = 1_000;

/// The longest cursor.
pub const MAX_CURSOR_CHARS: usize = 200;

/// The longest name of an unknown parameter that an error repeats: shorter than a key.
const MAX_NAME_CHARS: usize = 32;

/// Which orders are listed. All that is given holds together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrderFilter {
    /// Those of this pet.
    pub pet_id: Option<i64>,
    /// Those of this status.
    pub status: Option<OrderStatus>,
    /// Those that have been fulfilled, or have not.
    pub complete: Option<bool>,
    /// Those with a ship date at this time or later.
    pub ship_date_from: Option<DateTime<Utc>>,
    /// Those with a ship date before this time.
    pub ship_date_before: Option<DateTime<Utc>>,
}

/// What a request for a page asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderQuery {
    /// How many orders at most.
    pub limit: usize,
    /// The `nextCursor` of the page before, not decoded yet.
    pub cursor: Option<String>,
    /// Which orders.
    pub filter: OrderFilter,
}

impl Default for OrderQuery {
    fn default() -> OrderQuery {
        OrderQuery { limit: DEFAULT_LIMIT, cursor: None, filter: OrderFilter::default() }
    }
}

/// Why a query is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidQuery {
    /// The parameter of this name is empty or malformed.
    Malformed(&'static str),
    /// The parameter of this name is there more than once.
    Repeated(&'static str),
    /// There is no parameter of this name, which is `None` if it is too long or too odd to be
    /// repeated in an error.
    Unknown(Option<String>),
}

/// The name of each parameter, and what it must be.
const PARAMETERS: [(&str, &str); 7] = [
    ("limit", "an integer from 1 to 1000"),
    ("cursor", "the nextCursor of a page, unchanged and with the filters of that page"),
    ("petId", "a 64-bit integer in plain decimal, such as 42"),
    ("status", "pending or shipped"),
    ("complete", "true or false"),
    ("shipDateFrom", "a time of RFC 3339, such as 2026-12-24T09:30:00Z; write a + in it as %2B"),
    ("shipDateBefore", "a time of RFC 3339, such as 2026-12-24T09:30:00Z; write a + in it as %2B"),
];

impl InvalidQuery {
    /// The cursor is none of this server, or belongs to other filters.
    pub const CURSOR: InvalidQuery = InvalidQuery::Malformed("cursor");

    /// The error as sent over the wire, which names the parameter.
    pub fn into_error(self) -> Error {
        Code::InvalidParameter.with_message(match self {
            InvalidQuery::Malformed(name) => {
                let expected = PARAMETERS.iter().find(|(known, _)| *known == name);
                let expected = expected.map_or("", |(_, expected)| expected);
                format!("The query parameter {name} must be {expected}.")
            }
            InvalidQuery::Repeated(name) => {
                format!("The query parameter {name} is there more than once. Send it once.")
            }
            InvalidQuery::Unknown(name) => {
                let name = name.map(|name| format!(" {name}")).unwrap_or_default();
                let known = PARAMETERS.map(|(name, _)| name).join(", ");
                format!("There is no such query parameter{name}. There are {known}.")
            }
        })
    }
}

impl OrderQuery {
    /// The query of a request: the part of its address after `?`.
    pub fn parse(query: &str) -> Result<OrderQuery, InvalidQuery> {
        let mut parsed = OrderQuery::default();
        let mut seen = [false; PARAMETERS.len()];
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let known = PARAMETERS.iter().zip(&mut seen).find(|((known, _), _)| *known == name);
            let Some(((name, _), seen)) = known else {
                return Err(InvalidQuery::Unknown(repeatable(&name)));
            };
            if std::mem::replace(seen, true) {
                return Err(InvalidQuery::Repeated(name));
            }
            parsed.set(name, &value).ok_or(InvalidQuery::Malformed(name))?;
        }
        Ok(parsed)
    }

    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        let filter = &mut self.filter;
        match name {
            "limit" => {
                let limit = plain_int64(value).and_then(|limit| usize::try_from(limit).ok());
                self.limit = limit.filter(|limit| (1..=MAX_LIMIT).contains(limit))?;
            }
            "cursor" => {
                let is_cursor = (1..=MAX_CURSOR_CHARS).contains(&value.len());
                self.cursor = Some(is_cursor.then(|| value.to_string())?);
            }
            "petId" => filter.pet_id = Some(plain_int64(value)?),
            "status" => {
                let mut all = OrderStatus::ALL.into_iter();
                filter.status = Some(all.find(|status| status.as_str() == value)?);
            }
            "complete" => filter.complete = Some(value.parse().ok()?),
            "shipDateFrom" => filter.ship_date_from = Some(parse_date_time(value)?),
            _ => filter.ship_date_before = Some(parse_date_time(value)?),
        }
        Some(())
    }
}

impl OrderFilter {
    /// The filters as a query, each preceded by `&`: one text for one meaning.
    pub fn query(&self) -> String {
        let OrderFilter { pet_id, status, complete, ship_date_from, ship_date_before } = self;
        let parameters = [
            ("petId", pet_id.map(|id| id.to_string())),
            ("status", status.map(|status| status.as_str().to_string())),
            ("complete", complete.map(|complete| complete.to_string())),
            ("shipDateFrom", ship_date_from.as_ref().map(utc_text)),
            ("shipDateBefore", ship_date_before.as_ref().map(utc_text)),
        ];
        let mut query = String::new();
        for (name, value) in parameters {
            if let Some(value) = value {
                let _ = write!(query, "&{name}={value}");
            }
        }
        query
    }
}

/// The name of an unknown parameter, if an error may repeat it.
fn repeatable(name: &str) -> Option<String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.[]".contains(letter);
    let repeats = (1..=MAX_NAME_CHARS).contains(&name.len()) && name.chars().all(is_plain);
    repeats.then(|| name.to_string())
}

/// The query of a request, or why it is invalid.
///
/// Extraction itself never fails, so that the handler can answer 400 with an
/// [`Error`] body.
#[derive(Debug)]
pub struct OrderQueryOf(pub Result<OrderQuery, InvalidQuery>);

#[async_trait::async_trait]
impl SharedExtractor for OrderQueryOf {
    async fn from_request<Context: ServerContext>(
        context: &RequestContext<Context>,
    ) -> Result<Self, HttpError> {
        let query = context.request.uri().query().unwrap_or_default();
        Ok(OrderQueryOf(OrderQuery::parse(query)))
    }

    fn metadata(body: dropshot::ApiEndpointBodyContentType) -> ExtractorMetadata {
        <Query<OrderParameters> as SharedExtractor>::metadata(body)
    }
}

/// The parameters as the document has them.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct OrderParameters {
    /// How many orders the page may have at most; 100 unless sent.
    #[schemars(schema_with = "limit_schema")]
    limit: usize,
    /// `nextCursor` of the page before, unchanged and with the filters of that page; `limit` may
    /// differ. Without it, the first page is returned.
    cursor: String,
    /// Only orders of this pet: a 64-bit integer in plain decimal, without a plus sign, leading
    /// zeros, a fraction or an exponent. It may exceed 2^53-1, where JavaScript's numbers lose
    /// digits: send the text of a `petId` that was parsed without loss.
    pet_id: i64,
    /// Only orders of this status.
    #[schemars(schema_with = "status_schema")]
    status: String,
    /// Only orders that have been fulfilled (`true`), or have not (`false`).
    complete: bool,
    /// Only orders with a `shipDate` at this time or later (RFC 3339, with any offset; a `+` in
    /// it is sent as `%2B`). An order without `shipDate` does not match.
    ship_date_from: DateTime<Utc>,
    /// Only orders with a `shipDate` before this time (RFC 3339, with any offset; a `+` in it is
    /// sent as `%2B`). An order without `shipDate` does not match.
    ship_date_before: DateTime<Utc>,
}

fn limit_schema(_: &mut SchemaGenerator) -> Schema {
    Schema::Object(SchemaObject {
        instance_type: Some(InstanceType::Integer.into()),
        number: Some(Box::new(NumberValidation {
            minimum: Some(1.0),
            maximum: Some(MAX_LIMIT as f64),
            ..Default::default()
        })),
        ..Default::default()
    })
}

fn status_schema(_: &mut SchemaGenerator) -> Schema {
    Schema::Object(SchemaObject {
        instance_type: Some(InstanceType::String.into()),
        enum_values: Some(OrderStatus::ALL.map(|status| json!(status.as_str())).to_vec()),
        ..Default::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::emitted;
    use crate::documents::V2;

    #[test]
    fn the_figures_of_the_texts_are_those_of_the_server() {
        let document = emitted(&V2).unwrap();
        let parameters = document["paths"]["/store/orders"]["get"]["parameters"].as_array();
        let named = |name: &str| parameters.unwrap().iter().find(|one| one["name"] == name);
        let limit = named("limit").unwrap();
        let default = format!("; {DEFAULT_LIMIT} unless sent.");
        assert!(limit["description"].as_str().unwrap().ends_with(&default), "{limit}");
        assert!(PARAMETERS[0].1.ends_with(&format!(" to {MAX_LIMIT}")));
        let cursor = &document["components"]["schemas"]["OrderPage"]["properties"]["nextCursor"];
        let longest = format!("at most {MAX_CURSOR_CHARS} letters");
        assert!(cursor["description"].as_str().unwrap().contains(&longest), "{cursor}");
        assert!(PARAMETERS.iter().all(|(name, _)| named(name).is_some()));
        assert_eq!(parameters.unwrap().len(), PARAMETERS.len());
    }

    #[test]
    fn a_query_is_read_and_its_filters_have_one_text() {
        let query = "limit=1000&petId=-7&status=shipped&complete=false&cursor=a-_\
                     &shipDateFrom=2026-12-24T09:30:00%2B02:00&shipDateBefore=2027-01-01t00:00:00.5z";
        let parsed = OrderQuery::parse(query).unwrap();
        assert_eq!((parsed.limit, parsed.cursor.as_deref()), (1_000, Some("a-_")));
        let text = parsed.filter.query();
        assert_eq!(
            text,
            "&petId=-7&status=shipped&complete=false&shipDateFrom=2026-12-24T07:30:00Z\
             &shipDateBefore=2027-01-01T00:00:00.500Z"
        );
        assert_eq!(OrderQuery::parse(&text).unwrap().filter, parsed.filter);
        for empty in ["", "&", "&&"] {
            assert_eq!(OrderQuery::parse(empty), Ok(OrderQuery::default()));
        }
    }

    #[test]
    fn a_wrong_parameter_is_named() {
        let error = |query: &str| OrderQuery::parse(query).unwrap_err().into_error();
        for (query, name) in [
            ("limit=0", "limit"),
            ("limit=1001", "limit"),
            ("limit=+5", "limit"),
            ("limit=05", "limit"),
            ("limit=5.0", "limit"),
            ("limit=99999999999999999999", "limit"),
            ("limit", "limit"),
            ("limit=1&limit=1", "limit"),
            ("cursor=", "cursor"),
            ("petId=", "petId"),
            ("petId=1&petId=2", "petId"),
            ("petId=9223372036854775808", "petId"),
            ("pet_id=7", "pet_id"),
            ("petid=7", "petid"),
            ("petId[]=7", "petId[]"),
            ("status=cancelled", "status"),
            ("status=Pending", "status"),
            ("complete=1", "complete"),
            ("complete=TRUE", "complete"),
            ("shipDateFrom=2026-12-24", "shipDateFrom"),
            ("shipDateFrom=2026-12-24T09:30:00", "shipDateFrom"),
            // The + is a space.
            ("shipDateFrom=2026-12-24T09:30:00+02:00", "shipDateFrom"),
            ("shipDateFrom=2026-12-24T09:30:00%E2%88%9202:00", "shipDateFrom"),
            ("shipDateBefore=2026-12-24T09:30:60Z", "shipDateBefore"),
            // In UTC it is of the year 10000.
            ("shipDateBefore=9999-12-31T23:59:59-01:00", "shipDateBefore"),
            ("status=pending&offset=3", "offset"),
        ] {
            let error = error(query);
            assert_eq!((error.status, error.code.as_str()), (400, "invalid_parameter"), "{query}");
            assert!(
                error.message.contains(&format!(" {name} "))
                    || error.message.contains(&format!(" {name}. ")),
                "{query}: {error}"
            );
        }
        assert!(error(&format!("cursor={}", "a".repeat(201))).message.contains(" cursor "));
        for odd in ["sto_live_0123456789abcdefghijABCDEFGHIJ012345=1", "%00=1", "=1", "a%20b=1"] {
            let message = error(odd).message;
            assert!(message.starts_with("There is no such query parameter. "), "{odd}: {message}");
        }
    }
}
