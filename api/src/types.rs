//! The records and path parameters of the contract, as sent over the wire. The
//! document takes its descriptions from the comments of the fields.

use chrono::{DateTime, Datelike, SecondsFormat, Timelike, Utc};
use dropshot::{
    ExtractorMetadata, HttpError, Path, RequestContext, ServerContext, SharedExtractor,
};
use schemars::JsonSchema;
use schemars::r#gen::SchemaGenerator;
use schemars::schema::{InstanceType, Schema, SchemaObject};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The largest integer up to which each number in JavaScript is exact, 2^53-1.
pub const LARGEST_IN_JAVASCRIPT: i64 = (1 << 53) - 1;

/// An order placed in the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    /// Unique order identifier. It may exceed 2^53-1, where JavaScript's numbers
    /// lose digits: parse it without loss, and keep it as text.
    pub id: i64,
    /// Identifier of the animal in the order. The store may have no pet with
    /// this identifier. It may exceed 2^53-1, where JavaScript's numbers lose
    /// digits: parse it without loss, and keep it as text.
    pub pet_id: i64,
    /// Number of units ordered, 1 to 2147483647.
    #[schemars(schema_with = "integer")]
    pub quantity: i32,
    /// Expected or actual ship date, in UTC (RFC 3339). Absent if unknown, never
    /// null.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "serialize_utc")]
    #[schemars(with = "DateTime<Utc>")]
    pub ship_date: Option<DateTime<Utc>>,
    /// Whether the order has been fulfilled. Neither this nor `shipDate` tells whether
    /// the order can be cancelled: only cancelOrder does.
    pub complete: bool,
}

/// An order placed in the store, in v2.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Order", description = "An order placed in the store.")]
pub struct OrderV2 {
    /// Unique order identifier. It may exceed 2^53-1, where JavaScript's numbers
    /// lose digits: parse it without loss, and keep it as text.
    pub id: i64,
    /// Identifier of the animal in the order. The store may have no pet with
    /// this identifier. It may exceed 2^53-1, where JavaScript's numbers lose
    /// digits: parse it without loss, and keep it as text.
    pub pet_id: i64,
    /// Number of units ordered, 1 to 2147483647.
    #[schemars(schema_with = "integer")]
    pub quantity: i32,
    /// Expected or actual ship date, in UTC (RFC 3339). Absent if unknown, never
    /// null.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "serialize_utc")]
    #[schemars(with = "DateTime<Utc>")]
    pub ship_date: Option<DateTime<Utc>>,
    /// Whether the order has been fulfilled. Whether it can be cancelled is told by
    /// `status`.
    pub complete: bool,
    /// Whether the order can be cancelled: `pending`, or no more: `shipped`. It is
    /// independent of `complete` and `shipDate`. Statuses may be added: do not cancel an
    /// order of an unknown one.
    #[schemars(with = "String")]
    pub status: OrderStatus,
}

/// The status of an order that is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OrderStatus {
    /// Can be cancelled.
    Pending,
    /// Can no longer be cancelled.
    Shipped,
}

impl OrderStatus {
    /// Every status.
    pub const ALL: [OrderStatus; 2] = [OrderStatus::Pending, OrderStatus::Shipped];

    /// The status as sent over the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            OrderStatus::Pending => "pending",
            OrderStatus::Shipped => "shipped",
        }
    }
}

/// A page of the list of orders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrderPage {
    /// The orders, in ascending order of `id`. There may be fewer than `limit`, even none,
    /// although there is a next page.
    pub orders: Vec<OrderV2>,
    /// Where the next page begins: send it as `cursor`, with the filters unchanged. Absent
    /// on the last page, never null. It is opaque, at most 200 letters, digits, `-` and
    /// `_`, and never expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub next_cursor: Option<String>,
}

/// A pet of the store. Deprecated together with its operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pet {
    /// Unique pet identifier. It may exceed 2^53-1, where JavaScript's numbers
    /// lose digits: parse it without loss, and keep it as text.
    pub id: i64,
    /// The pet's name.
    pub name: String,
}

/// The path parameters of cancelOrder.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrderPath {
    /// Identifier of the order to cancel: a 64-bit integer in plain decimal,
    /// without a plus sign, leading zeros, a fraction or an exponent. It may exceed
    /// 2^53-1, where JavaScript's numbers lose digits and a rounded one names
    /// another order: send the text of an `id` that was parsed without loss.
    pub order_id: PlainInt64,
}

/// The path parameters of getPet.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PetPath {
    /// Identifier of the pet: a 64-bit integer in plain decimal, without a plus
    /// sign, leading zeros, a fraction or an exponent. It may exceed 2^53-1, where
    /// JavaScript's numbers lose digits: send the text of a `petId` that was parsed
    /// without loss.
    pub pet_id: PlainInt64,
}

/// A 64-bit integer in its one decimal spelling: not `+1`, `01`, `-0`, `1.0` or
/// `1e3`. In the document it is a plain `int64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainInt64(pub i64);

impl<'de> Deserialize<'de> for PlainInt64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        plain_int64(&text)
            .map(PlainInt64)
            .ok_or_else(|| serde::de::Error::custom("not a 64-bit integer in plain decimal"))
    }
}

impl JsonSchema for PlainInt64 {
    fn schema_name() -> String {
        i64::schema_name()
    }

    fn is_referenceable() -> bool {
        false
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        i64::json_schema(generator)
    }
}

/// The 64-bit integer of which `text` is the one plain decimal spelling.
pub fn plain_int64(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = match digits.as_bytes() {
        [b'0'] => digits.len() == text.len(),
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if plain { text.parse().ok() } else { None }
}

/// The path parameters of an operation, or why they are invalid.
///
/// Extraction itself never fails, so that the handler can answer 400 with an
/// [`Error`](crate::errors::Error) body. The metadata is that of `Path<P>`.
#[derive(Debug)]
pub struct PathOf<P>(pub Result<P, HttpError>);

#[async_trait::async_trait]
impl<P> SharedExtractor for PathOf<P>
where
    P: DeserializeOwned + JsonSchema + Send + Sync + 'static,
{
    async fn from_request<Context: ServerContext>(
        context: &RequestContext<Context>,
    ) -> Result<Self, HttpError> {
        let path = <Path<P> as SharedExtractor>::from_request(context).await;
        Ok(PathOf(path.map(Path::into_inner)))
    }

    fn metadata(body: dropshot::ApiEndpointBodyContentType) -> ExtractorMetadata {
        <Path<P> as SharedExtractor>::metadata(body)
    }
}

/// A time as the contract writes it: RFC 3339 in UTC with `Z`, with 0, 3, 6 or 9
/// digits of a second.
pub fn utc_text(time: &DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

/// Reads a date-time of RFC 3339, section 5.6, with any offset. `None` if its year in UTC has more
/// or fewer than four digits.
///
/// Chrono alone also takes U+2212 as a minus sign, and second 60 in every minute. A leap second
/// ends a day in UTC; it is read as the second after it, because most programs cannot read it.
pub fn parse_date_time(text: &str) -> Option<DateTime<Utc>> {
    if !text.is_ascii() {
        return None;
    }
    let mut time = DateTime::parse_from_rfc3339(text).ok()?.to_utc();
    // Chrono counts a leap second as nanoseconds of second 59.
    if let Some(nanos) = time.nanosecond().checked_sub(1_000_000_000) {
        if (time.hour(), time.minute()) != (23, 59) {
            return None;
        }
        time = DateTime::from_timestamp(time.timestamp().checked_add(1)?, nanos)?;
    }
    (0..=9999).contains(&time.year()).then_some(time)
}

fn serialize_utc<S: Serializer>(
    time: &Option<DateTime<Utc>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => serializer.serialize_str(&utc_text(time)),
        None => serializer.serialize_none(),
    }
}

/// `integer` without a format, as in the specification's tables.
pub(crate) fn integer(_: &mut SchemaGenerator) -> Schema {
    Schema::Object(SchemaObject {
        instance_type: Some(InstanceType::Integer.into()),
        ..Default::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_has_one_spelling() {
        for (text, value) in [
            ("0", 0),
            ("7", 7),
            ("-7", -7),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
        ] {
            assert_eq!(plain_int64(text), Some(value), "{text}");
        }
        for text in [
            "",
            "-",
            "+1",
            "01",
            "-0",
            "-01",
            "00",
            "1.0",
            "1e3",
            " 1",
            "1 ",
            "0x1",
            "１",
            "1_000",
            "9223372036854775808",
            "-9223372036854775809",
        ] {
            assert_eq!(plain_int64(text), None, "{text}");
        }
    }

    #[test]
    fn a_date_time_is_one_of_rfc_3339() {
        for (text, utc) in [
            ("2026-12-24T10:30:00Z", "2026-12-24T10:30:00Z"),
            ("2026-12-24t10:30:00.5z", "2026-12-24T10:30:00.500Z"),
            // The separator that section 5.6 allows for readability.
            ("2026-12-24 10:30:00-01:30", "2026-12-24T12:00:00Z"),
            ("2026-12-24T23:59:59+23:59", "2026-12-24T00:00:59Z"),
            ("2026-12-24T10:30:00.1234567891Z", "2026-12-24T10:30:00.123456789Z"),
            ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
            ("2017-01-01T05:29:60.25+05:30", "2017-01-01T00:00:00.250Z"),
        ] {
            assert_eq!(
                parse_date_time(text).as_ref().map(utc_text).as_deref(),
                Some(utc),
                "{text}"
            );
        }
        for text in [
            "2026-12-24T10:30:60Z",
            "2016-12-31T23:59:60+01:00",
            "2016-12-31T23:59:61Z",
            "9999-12-31T23:59:60Z",
            "0000-01-01T00:00:00+00:01",
            "2026-12-24T10:30:00\u{2212}01:00",
            "2026-12-24T10:30:0\u{665}Z",
            "2026-12-24T24:00:00Z",
            "2026-02-29T10:30:00Z",
            "2026-12-24T10:30Z",
            "2026-12-24T10:30:00",
            "2026-12-24T10:30:00.Z",
            "2026-12-24T10:30:00,5Z",
            "2026-12-24T10:30:00+0100",
            "2026-12-24T10:30:00+24:00",
            "2026-12-24T10:30:00+01:60",
            "2026-12-24T10:30:00 Z",
            " 2026-12-24T10:30:00Z",
            "2026-12-24T10:30:00Z\n",
            "+2026-12-24T10:30:00Z",
            "20261224T103000Z",
            "",
        ] {
            assert_eq!(parse_date_time(text), None, "{text}");
        }
    }

    #[test]
    fn an_order_without_ship_date_has_four_fields() {
        let order = Order { id: 1, pet_id: 2, quantity: 3, ship_date: None, complete: false };
        assert_eq!(
            serde_json::to_string(&order).unwrap(),
            r#"{"id":1,"petId":2,"quantity":3,"complete":false}"#
        );
    }
}
