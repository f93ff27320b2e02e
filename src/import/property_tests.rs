//! Property tests of the parsers: random bytes, valid records in every format, and records with one
//! invalid field.

use super::{ParseError, Parsed, Record, Unknown, parse};
use crate::store::{Order, OrderStatus};
use chrono::DateTime;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use store_orders_api::types::{MAX_ID, Pet, utc_text};

proptest! {
    #![proptest_config(testbed::property_config())]

    #[test]
    fn any_bytes_give_records_or_errors_with_a_position(
        noise in prop::collection::vec(any::<u8>(), 0..200),
        tokens in prop::collection::vec(token(), 0..60),
        orders in orders(),
        cut in any::<(Index, Index)>(),
    ) {
        check_positions(&noise);
        check_positions(tokens.concat().as_bytes());
        for text in files::<Order>(&orders.iter().map(order_json).collect::<Vec<_>>()) {
            let mut bytes = text.into_bytes();
            let start = cut.0.index(bytes.len());
            let end = start + cut.1.index((bytes.len() - start).min(8) + 1);
            bytes.splice(start..end, noise.iter().copied().take(4));
            check_positions(&bytes);
        }
    }

    #[test]
    fn valid_orders_are_read_alike_from_every_format(orders in orders()) {
        for text in files::<Order>(&orders.iter().map(order_json).collect::<Vec<_>>()) {
            prop_assert_eq!(parse_valid::<Order>(&text), orders.clone(), "{}", text);
        }
    }

    #[test]
    fn valid_pets_are_read_alike_from_every_format(
        pets in prop::collection::btree_map(-MAX_ID..=MAX_ID, name(), 1..20)
    ) {
        let pets: Vec<Pet> = pets.into_iter().map(|(id, name)| Pet { id, name }).collect();
        let rows: Vec<Value> =
            pets.iter().map(|pet| json!({ "id": pet.id, "name": pet.name })).collect();
        for text in files::<Pet>(&rows) {
            prop_assert_eq!(parse_valid::<Pet>(&text), pets.clone(), "{}", text);
        }
    }

    #[test]
    fn an_invalid_field_is_named_with_its_line(
        orders in orders(),
        row in any::<Index>(),
        (field, value) in invalid_field(),
    ) {
        let row = row.index(orders.len());
        let mut rows: Vec<Value> = orders.iter().map(order_json).collect();
        rows[row][field] = value;
        for (text, first_line) in files::<Order>(&rows).iter().zip([2, 2, 1]) {
            let parsed = parse::<Order>(text.as_bytes(), Unknown::Refused).unwrap();
            prop_assert_eq!(parsed.rows.len(), orders.len() - 1, "{}", text);
            prop_assert_eq!(parsed.bad.count(), 1);
            let bad = parsed.bad.rows().next().unwrap();
            prop_assert_eq!(bad.location.line, first_line + row, "{} in {}", bad, text);
            let problem = bad.problem.to_string();
            prop_assert!(problem.starts_with(&format!("{field} must be ")), "{}", problem);
        }
    }
}

fn check_positions(content: &[u8]) {
    let lines = content.split(|byte| *byte == b'\n').count();
    let on_a_line = |line: usize| assert!((1..=lines).contains(&line), "line {line} of {lines}");
    match parse::<Order>(content, Unknown::Refused) {
        Ok(Parsed { rows, bad, .. }) => {
            rows.iter().for_each(|row| on_a_line(row.location.line));
            bad.rows().for_each(|row| on_a_line(row.location.line));
            assert!(rows.windows(2).all(|pair| pair[0].record.id < pair[1].record.id));
        }
        Err(ParseError::NotUtf8 { line }) => on_a_line(line),
        Err(ParseError::BrokenArray(error)) => on_a_line(error.line()),
        Err(ParseError::Empty | ParseError::Gzip | ParseError::Header(_)) => {}
        Err(ParseError::BrokenCsv(error)) => panic!("UTF-8 text is always rows: {error}"),
    }
}

/// Generates a piece of a JSON or CSV file. A sequence of pieces may be invalid.
fn token() -> impl Strategy<Value = String> {
    let fragment = prop::sample::select(vec![
        "[",
        "]",
        "{",
        "}",
        ":",
        ",",
        ";",
        "\"",
        "\\",
        "\n",
        "\r\n",
        " ",
        "\u{feff}",
        "ä",
        "null",
        "\"id\":",
        "\"petId\":1,",
        "\"quantity\":2",
        "id,petId,quantity\n",
        "1,2,3\n",
        "true",
    ]);
    prop_oneof![fragment.prop_map(str::to_string), any::<i64>().prop_map(|n| n.to_string())]
}

/// Generates orders in ascending order of id.
fn orders() -> impl Strategy<Value = Vec<Order>> {
    // The years 0000 to 9999.
    let seconds = -62_167_219_200..=253_402_300_799_i64;
    let dates = (seconds, 0..1_000_000_000_u32)
        .prop_map(|(seconds, nanos)| DateTime::from_timestamp(seconds, nanos).unwrap());
    let order = (-MAX_ID..=MAX_ID, 1..=i32::MAX, prop::option::of(dates), any::<[bool; 2]>())
        .prop_map(|(pet_id, quantity, ship_date, [complete, shipped])| Order {
            ship_date,
            complete,
            status: if shipped { OrderStatus::Shipped } else { OrderStatus::Pending },
            ..Order::new(0, pet_id, quantity)
        });
    prop::collection::btree_map(-MAX_ID..=MAX_ID, order, 1..20)
        .prop_map(|orders| orders.into_iter().map(|(id, order)| Order { id, ..order }).collect())
}

fn order_json(order: &Order) -> Value {
    let mut json = serde_json::to_value(order).unwrap();
    if let Some(date) = &order.ship_date {
        json["shipDate"] = utc_text(date).replace('Z', "+00:00").into();
    }
    json
}

/// Generates a valid name: any characters except control characters, then `Rex`, so that the name
/// is not blank.
fn name() -> impl Strategy<Value = String> {
    prop::collection::vec(any::<char>(), 0..20).prop_map(|letters| {
        letters.into_iter().filter(|letter| !letter.is_control()).chain("Rex".chars()).collect()
    })
}

/// Generates the name of a field, and a value that is invalid for this field in every file format.
fn invalid_field() -> impl Strategy<Value = (&'static str, Value)> {
    let invalid_everywhere = prop_oneof![
        "[^\\pC]{1,60}[!?]".prop_map(Value::from),
        (0.1..0.9_f64).prop_map(Value::from),
        Just(json!(1e300)),
    ];
    let invalid_quantity = prop_oneof![i64::MIN..1, 2_147_483_648..i64::MAX].prop_map(Value::from);
    let invalid_id = prop_oneof![i64::MIN..-MAX_ID, MAX_ID + 1..=i64::MAX].prop_map(Value::from);
    prop_oneof![
        (prop::sample::select(Order::FIELDS), invalid_everywhere),
        (prop::sample::select(vec!["id", "petId"]), invalid_id),
        (Just("quantity"), invalid_quantity),
        (Just("status"), Just(json!("cancelled"))),
        (Just("shipDate"), Just(json!("9999-12-31T23:59:59-00:01"))),
    ]
}

/// Formats the rows as CSV, as a JSON array and as JSON lines.
fn files<R: Record>(rows: &[Value]) -> [String; 3] {
    let cell = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(R::FIELDS).unwrap();
    for row in rows {
        csv.write_record(R::FIELDS.iter().map(|field| cell(&row[field]))).unwrap();
    }
    let csv = String::from_utf8(csv.into_inner().unwrap()).unwrap();
    let lines: Vec<String> = rows.iter().map(Value::to_string).collect();
    [csv, format!("[\n{}\n]", lines.join(",\n")), lines.join("\n")]
}

fn parse_valid<R: Record>(text: &str) -> Vec<R> {
    let Parsed { rows, bad, .. } = parse(text.as_bytes(), Unknown::Refused).unwrap();
    assert_eq!(bad.count(), 0, "{bad}");
    rows.into_iter().map(|row| row.record).collect()
}
