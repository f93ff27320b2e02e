//! Tests of each format, and of the message for each invalid row.

use super::*;
use crate::store::{Order, OrderStatus};
use std::collections::BTreeSet;
use store_orders_api::types::{MAX_ID, Pet};

fn orders(text: &str) -> Parsed<Order> {
    parse(text.as_bytes(), Unknown::Refused).unwrap()
}

/// Formats each bad row as "line 2: problem".
fn complaints<R>(parsed: &Parsed<R>) -> Vec<String> {
    parsed.bad.rows().map(|row| row.to_string()).collect()
}

fn complaint<R: Record>(text: &str) -> String {
    let parsed = parse::<R>(text.as_bytes(), Unknown::Refused).unwrap();
    assert!(parsed.rows.is_empty(), "{text} was accepted");
    complaints(&parsed).join("; ")
}

fn failure(content: &[u8]) -> String {
    format!("{:#}", anyhow::Error::from(parse::<Order>(content, Unknown::Refused).err().unwrap()))
}

const FULL: &str = r#"{"id":-7,"petId":3,"quantity":2,"shipDate":"2026-12-01T01:00:00.5+02:00","complete":true,"status":"shipped"}"#;

#[test]
fn all_formats_give_the_same_orders() {
    let csv = "status,complete,shipDate,quantity,petId,id\n\
               shipped,true,2026-12-01T01:00:00.5+02:00,2,3,-7\n\
               ,,,1,9007199254740991,8\n";
    let bare = r#"{"id":8,"petId":9007199254740991,"quantity":1,"shipDate":null}"#;
    let read = |text: &str| {
        let parsed = orders(text);
        assert_eq!(parsed.bad.count(), 0, "{:?}", complaints(&parsed));
        parsed.rows.into_iter().map(|row| row.record).collect::<Vec<_>>()
    };
    let from_csv = read(csv);
    assert_eq!(from_csv.len(), 2);
    assert_eq!(from_csv, read(&format!("[{bare},\n{FULL}]")));
    assert_eq!(from_csv, read(&format!("{FULL}\n\n  {bare}  \n")));
    assert_eq!(from_csv, read(&format!("\u{feff}{}", csv.replace('\n', "\r\n"))));
    let first = &from_csv[0];
    assert_eq!((first.id, first.pet_id, first.quantity), (-7, 3, 2));
    assert_eq!(first.ship_date, Some("2026-11-30T23:00:00.500Z".parse().unwrap()));
    assert!(first.complete && first.status == OrderStatus::Shipped);
    let second = &from_csv[1];
    assert_eq!((&second.ship_date, second.complete), (&None, false));
    assert_eq!(second.status, OrderStatus::Pending);
}

#[test]
fn the_json_of_a_stored_order_can_be_imported() {
    let order = Order {
        id: -7,
        pet_id: 3,
        quantity: 2,
        ship_date: Some("2026-11-30T23:00:00.500Z".parse().unwrap()),
        complete: true,
        status: OrderStatus::Shipped,
    };
    let parsed = orders(&serde_json::to_string(&order).unwrap());
    assert_eq!(complaints(&parsed), [""; 0], "`Order` in src/import/records.rs lacks a field");
    assert_eq!(parsed.rows[0].record, order);
}

#[test]
fn every_bad_field_has_its_reason() {
    let integer = format!("must be an integer from -{MAX_ID} to {MAX_ID}, not");
    let quantity = "quantity must be an integer from 1 to 2147483647, not";
    let ship_date = "shipDate must be an RFC 3339 date-time like 2026-01-15T09:30:00Z, in the years \
                0000 to 9999 in UTC, not";
    for (change, reason) in [
        (r#""id":"7""#, format!(r#"id {integer} "7""#)),
        (r#""id":1.0"#, format!("id {integer} 1.0")),
        (r#""id":9223372036854775808"#, format!("id {integer} 9223372036854775808")),
        (r#""id":9007199254740992"#, format!("id {integer} 9007199254740992")),
        (r#""id":-9007199254740992"#, format!("id {integer} -9007199254740992")),
        (r#""petId":9007199254740992"#, format!("petId {integer} 9007199254740992")),
        (r#""petId":-9007199254740992"#, format!("petId {integer} -9007199254740992")),
        (r#""id":null"#, format!("id {integer} null")),
        (r#""id":[1]"#, format!("id {integer} an array")),
        (r#""petId":{}"#, format!("petId {integer} an object")),
        (r#""quantity":0"#, format!("{quantity} 0")),
        (r#""quantity":-1"#, format!("{quantity} -1")),
        (r#""quantity":2147483648"#, format!("{quantity} 2147483648")),
        (r#""shipDate":"2026-12-01""#, format!(r#"{ship_date} "2026-12-01""#)),
        (r#""shipDate":"2026-02-30T00:00:00Z""#, format!(r#"{ship_date} "2026-02-30T00:00:00Z""#)),
        (
            r#""shipDate":"0000-01-01T00:00:00+01:00""#,
            format!(r#"{ship_date} "0000-01-01T00:00:00+01:00""#),
        ),
        (
            r#""shipDate":"9999-12-31T23:30:00-01:00""#,
            format!(r#"{ship_date} "9999-12-31T23:30:00-01:00""#),
        ),
        (r#""shipDate":"2026-12-24T10:30:60Z""#, format!(r#"{ship_date} "2026-12-24T10:30:60Z""#)),
        (
            "\"shipDate\":\"2026-12-24T10:30:00\u{2212}01:00\"",
            format!("{ship_date} \"2026-12-24T10:30:00\u{2212}01:00\""),
        ),
        (r#""shipDate":1796083200"#, format!("{ship_date} 1796083200")),
        (r#""complete":"true""#, r#"complete must be true or false, not "true""#.to_string()),
        (r#""complete":1"#, "complete must be true or false, not 1".to_string()),
        (
            r#""status":"cancelled""#,
            r#"status must be pending or shipped, not "cancelled""#.to_string(),
        ),
    ] {
        let name = change.split('"').nth(1).unwrap();
        let others = [r#""id":1"#, r#""petId":1"#, r#""quantity":1"#]
            .into_iter()
            .filter(|other| !other.contains(&format!("\"{name}\"")))
            .chain([change])
            .collect::<Vec<_>>();
        let record = format!("{{{}}}", others.join(","));
        assert_eq!(complaint::<Order>(&record), format!("line 1: {reason}"));
    }
}

#[test]
fn a_cell_is_checked_like_a_json_value() {
    for (cells, reason) in [
        (
            "01,1,1,,,",
            r#"id must be an integer from -9007199254740991 to 9007199254740991, not "01""#,
        ),
        (
            " 1,1,1,,,",
            r#"id must be an integer from -9007199254740991 to 9007199254740991, not " 1""#,
        ),
        (",1,1,,,", "id is missing"),
        ("1,1,1e3,,,", r#"quantity must be an integer from 1 to 2147483647, not "1e3""#),
        ("1,1,1,,yes,", r#"complete must be true or false, not "yes""#),
        ("1,1,1,,,Shipped", r#"status must be pending or shipped, not "Shipped""#),
        ("1,1,1", "has 3 cells where the header row has 6"),
        ("1,1,1,,,,", "has 7 cells where the header row has 6"),
    ] {
        let text = format!("id,petId,quantity,shipDate,complete,status\n{cells}\n");
        assert_eq!(complaint::<Order>(&text), format!("line 2: {reason}"));
    }
}

#[test]
fn wrong_fields_of_an_object_are_reported() {
    let cases = [
        (r#"{"id":1,"petId":1}"#, "quantity is missing"),
        (r#"{"id":1,"petId":1,"quantity":1,"id":1}"#, "id is given twice"),
        (
            r#"{"id":1,"petId":1,"quantity":1,"colour":{"a":[1]}}"#,
            &format!(r#""colour" is unknown; the names are {}"#, Order::FIELDS.join(", ")),
        ),
        (
            r#"{"id":1,"petId":1,"quantity":1"#,
            "is not valid JSON: EOF while parsing an object at column 30 of the record",
        ),
        (
            r#"{"id":1,"petId":1,"quantity":1} 2"#,
            "is not valid JSON: trailing characters at column 33 of the record",
        ),
    ];
    for (record, reason) in cases {
        assert_eq!(complaint::<Order>(record), format!("line 1: {reason}"));
    }
    let mixed = orders("{\"id\":1,\"petId\":1,\"quantity\":1}\nid,petId\n");
    assert_eq!(complaints(&mixed), [r#"line 2: must be a JSON object, not "id,petId""#]);
    assert_eq!(complaint::<Order>("[ 5 ]"), r#"line 1, column 3: must be a JSON object, not "5""#);
}

#[test]
fn invalid_json_does_not_hide_other_bad_records() {
    let good = r#"{"id":1,"petId":1,"quantity":1}"#;
    let bad = r#"{"id":2,"petId":1,"quantity":1,}"#;
    let text = r#"{"id":"a,]\\","petId":[],"quantity":0}"#;
    let records = [good, bad, text, "nul", r#"{"id" 4}"#];
    let reasons = [
        "is not valid JSON: trailing comma at column 32 of the record",
        "id must be an integer from -9007199254740991 to 9007199254740991, not \"a,]\\\\\"; petId must be an integer from -9007199254740991 to 9007199254740991, not an array; \
         quantity must be an integer from 1 to 2147483647, not 0",
        "must be a JSON object, not \"nul\"",
        "is not valid JSON: expected `:` at column 7 of the record",
    ];
    let expected = |place: &str| -> Vec<String> {
        (2..).zip(reasons).map(|(line, reason)| format!("line {line}{place}: {reason}")).collect()
    };
    let lines = orders(&records.join("\n"));
    assert_eq!(complaints(&lines), expected(""));
    let array = orders(&format!("[{}]", records.join(",\n")));
    assert_eq!(complaints(&array), expected(", column 1"));
    assert_eq!((lines.rows.len(), array.rows.len()), (1, 1));
    for broken in ["[{},]", "[{},,{}]", "[{}", "[{}]]", "[{\"id\":\"1}]", "[\u{a0}{}]x"] {
        let failure = failure(broken.as_bytes());
        assert!(failure.starts_with("not a valid JSON array: "), "{broken}: {failure}");
    }
}

#[test]
fn all_problems_of_a_row_are_in_one_message() {
    let (header, names) =
        ("id,petId,quantity,shipDate,complete,status\n", Order::FIELDS.join(", "));
    assert_eq!(
        complaint::<Order>(&format!("{header}x,,0,,maybe,sent\n")),
        "line 2: id must be an integer from -9007199254740991 to 9007199254740991, not \"x\"; petId is missing; quantity must be an \
         integer from 1 to 2147483647, not \"0\"; complete must be true or false, not \"maybe\"; \
         status must be pending or shipped, not \"sent\""
    );
    assert_eq!(
        complaint::<Order>(r#"{"id":1,"Id":2,"petId":null,"colour":1,"quantity":1}"#),
        format!(
            "line 1: id is given twice; \"colour\" is unknown; the names are {names}; petId must be \
             an integer from -9007199254740991 to 9007199254740991, not null"
        )
    );
    assert_eq!(
        failure(b"id,colour,size,id\n"),
        format!(
            "line 1 has to name the columns, separated by commas: id is given twice; \"colour\", \
             \"size\" are unknown; the names are {names}; petId is missing; quantity is missing"
        )
    );
    assert_eq!(
        failure(b"1,7,2\n"),
        format!(
            "line 1 has to name the columns, separated by commas: there is no header row, such as {}",
            Order::FIELDS.join(",")
        )
    );
}

#[test]
fn a_record_with_many_wrong_names_has_a_short_message() {
    let members: String = (0..1_000).map(|name| format!(r#","n{name}":1,"Id":1"#)).collect();
    let message = complaint::<Order>(&format!(r#"{{"id":1{members}}}"#));
    assert!(message.starts_with(r#"line 1: id is given twice; "n0", "n1", "#), "{message}");
    assert!(message.contains(r#", "n19" and 980 more are unknown; the names are "#), "{message}");
    assert!(message.len() < 500, "{message}");
}

#[test]
fn names_and_booleans_may_be_in_any_letter_case() {
    let parsed =
        orders("ID,PetId,QUANTITY,shipdate,Complete,STATUS\n1,2,3,,TRUE,\n2,2,3,,False,\n");
    assert_eq!(parsed.bad.count(), 0, "{:?}", complaints(&parsed));
    let complete: Vec<_> = parsed.rows.iter().map(|row| row.record.complete).collect();
    assert_eq!(complete, [true, false]);
    assert_eq!(orders(r#"{"ID":1,"petid":2,"Quantity":3}"#).rows.len(), 1);
}

#[test]
fn ignored_names_are_reported() {
    let text = "id,note,name,extra,note\n1,a,Rex,b,c\n2,a,,b,c\n";
    let parsed = parse::<Pet>(text.as_bytes(), Unknown::Ignored(BTreeSet::new())).unwrap();
    assert_eq!(complaints(&parsed), ["line 3: name is missing"]);
    assert_eq!(parsed.rows[0].record.name, "Rex");
    let Unknown::Ignored(names) = parsed.unknown else { panic!("none was ignored") };
    assert!(names.iter().eq(["extra", "note"]), "{names:?}");
}

#[test]
fn a_pet_has_a_name_of_one_line() {
    let wrong = "name must be text on one line, and not empty, not";
    assert_eq!(complaint::<Pet>(r#"{"id":1,"name":" "}"#), format!(r#"line 1: {wrong} " ""#));
    assert_eq!(complaint::<Pet>(r#"{"id":1,"name":7}"#), format!("line 1: {wrong} 7"));
    assert_eq!(complaint::<Pet>("id,name\n1,\n"), "line 2: name is missing");
    // An unclosed quote makes the rest of the file part of the name.
    assert_eq!(
        complaint::<Pet>("id,name\n1,\"Rex\n2,Minka\n"),
        format!(r#"line 2: {wrong} "Rex\n2,Minka\n""#)
    );
    let parsed =
        parse::<Pet>("name,id\n\"Rex, the \"\"dog\"\"\",1\nМурка,2\n".as_bytes(), Unknown::Refused)
            .unwrap();
    let names: Vec<_> = parsed.rows.into_iter().map(|row| row.record.name).collect();
    assert_eq!(names, [r#"Rex, the "dog""#, "Мурка"]);
}

#[test]
fn lines_are_counted_as_an_editor_counts_them() {
    let lines = |text: &str| {
        complaints(&parse::<Pet>(text.as_bytes(), Unknown::Refused).unwrap())
            .into_iter()
            .map(|complaint| complaint.split(':').next().unwrap().to_string())
            .collect::<Vec<_>>()
    };
    let csv = "id,name\nx,Rex\n\n\n\"y\",\"Re\nx\"\nz,Rex\n";
    assert_eq!(lines(csv), ["line 2", "line 5", "line 7"]);
    assert_eq!(lines(&csv.replace('\n', "\r\n")), ["line 2", "line 5", "line 7"]);
    assert_eq!(lines("{}\r\n\r\n{}\n\n  {}"), ["line 1", "line 3", "line 5"]);
    let array = "\n[\n  {\n  },\n\n  {}, {\"name\":\"ä\"},\r\n  {}\n]\n";
    assert_eq!(
        lines(array),
        ["line 3, column 3", "line 6, column 3", "line 6, column 7", "line 7, column 3"]
    );
    assert_eq!(lines("[{\"name\":\"äöü\"},{}]"), ["line 1, column 2", "line 1, column 17"]);
}

#[test]
fn a_repeated_id_is_reported() {
    let parsed = parse::<Pet>(b"id,name\n5,a\n3,b\n5,c\n5,d\n", Unknown::Refused).unwrap();
    assert_eq!(
        complaints(&parsed),
        [
            "line 4: pet 5 is in the file twice, first on line 2",
            "line 5: pet 5 is in the file twice, first on line 2"
        ]
    );
    let rows: Vec<_> = parsed.rows.iter().map(|row| (row.record.id, row.location.line)).collect();
    assert_eq!(rows, [(3, 3), (5, 2)]);
}

#[test]
fn twenty_bad_rows_are_shown_and_all_are_counted() {
    let bad = |count: usize| {
        let text = format!("id,name\n{}", "x,Rex\n".repeat(count));
        parse::<Pet>(text.as_bytes(), Unknown::Refused).unwrap().bad
    };
    assert!(bad(20).to_string().ends_with("\n20 bad rows"));
    let text = bad(57).to_string();
    assert_eq!(text.lines().count(), 21);
    assert!(text.starts_with("  line 2: id must be") && text.contains("  line 21: id must be"));
    assert!(
        text.ends_with("\n57 bad rows, of which the first 20 are shown; --all-errors shows all")
    );
    let all = format!("{:#}", bad(57));
    assert_eq!(all.lines().count(), 58);
    assert!(all.ends_with("\n57 bad rows"));
}

#[test]
fn bad_rows_are_in_the_order_of_the_file() {
    let mut bad = BadRows::default();
    for line in (1..=100).rev() {
        let problem = FieldProblem::for_field("id", "id is missing".to_string());
        bad.add(Location { line, column: 0 }, vec![problem]);
    }
    assert!(bad.rows().map(|row| row.location.line).eq(1..=100));
    assert_eq!(bad.count(), 100);
}

#[test]
fn an_unreadable_file_has_a_reason() {
    let empty = "there is nothing in it; write a JSON array, JSON lines, or CSV with a \
                 header row";
    assert_eq!(failure(b""), empty);
    assert_eq!(failure("\u{feff} \n".as_bytes()), empty);
    assert_eq!(failure(b"id\n\xff"), "line 2 is not UTF-8 text; save the file as UTF-8");
    let gzip = "it is compressed with gzip; decompress it to standard input, as in `zcat FILE | \
                store-orders orders import -`";
    assert_eq!(failure(b"\x1f\x8b\x08\x00"), gzip);
    assert_eq!(
        failure(b"[\n{\"id\":1}"),
        "not a valid JSON array: EOF while parsing a list at line 2 column 8"
    );
    assert_eq!(
        failure(b"[]\n[]"),
        "not a valid JSON array: trailing characters at line 2 column 1"
    );
    let header = "line 1 has to name the columns, separated by commas:";
    assert_eq!(failure(b"id,petId\n"), format!("{header} quantity is missing"));
    assert_eq!(failure(b"id,petId,quantity,ID\n"), format!("{header} id is given twice"));
    let names = format!("the names are {}", Order::FIELDS.join(", "));
    for (sign, name) in [(';', "semicolons"), ('\t', "tabs"), ('|', "bars")] {
        let text = format!("\"Id\"{sign}petId{sign}quantity\n1{sign}2{sign}3\n");
        assert_eq!(
            failure(text.as_bytes()),
            format!(
                "{header} here they are separated by {name}; save the file with commas, and quote \
                 the cells that have a comma"
            )
        );
    }
    assert!(failure(b"a;b\n").starts_with(&format!("{header} \"a;b\" is unknown; {names}; id is")));
}

#[test]
fn a_file_may_hold_no_records() {
    for text in ["[]", " [ ]\n", "id,petId,quantity", "id,petId,quantity\r\n"] {
        let parsed = orders(text);
        assert_eq!((parsed.rows.len(), parsed.bad.count()), (0, 0), "{text:?}");
    }
}
