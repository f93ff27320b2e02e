//! Tests of tables, and of the columns that narrow tables leave out.

use super::*;
use testbed::{assert_text, str};

fn format_table(columns: &[Column], rows: &[Vec<&str>], is_wide: bool) -> String {
    let mut out = Vec::new();
    let mut table = TextTable::new(&mut out, columns.to_vec(), is_wide);
    for row in rows {
        let cells = columns.iter().zip(row).map(|(column, cell)| (column.name, *cell));
        table.add(&cells.collect()).unwrap();
    }
    table.finish().unwrap();
    String::from_utf8(out).unwrap()
}

const PET: [Column; 2] = [Column::number("id"), Column::text("name")];

#[test]
fn numbers_align_right_and_text_left() {
    let rows = [vec!["7", "Rex"], vec!["-1000", "Minka"]];
    for is_wide in [true, false] {
        assert_eq!(format_table(&PET, &rows, is_wide), "   id  name\n    7  Rex\n-1000  Minka\n");
    }
}

#[test]
fn a_table_without_rows_has_column_names() {
    assert_eq!(format_table(&PET, &[], false), "id  name\n");
}

#[test]
fn a_long_table_names_its_columns_in_each_block() {
    let mut rows = vec![vec!["1000000", ""]; BLOCK_ROWS];
    assert_eq!(format_table(&PET, &rows, false).lines().count(), 1 + BLOCK_ROWS);
    rows.push(vec!["7", "Minka"]);
    let text = format_table(&PET, &rows, false);
    assert!(text.starts_with("     id\n1000000\n"), "{text}");
    assert!(text.ends_with("\n1000000\nid  name\n 7  Minka\n"), "{text}");
}

#[test]
fn long_lines_are_not_wrapped() {
    let name = "x".repeat(500);
    let text = format_table(&PET, &[vec!["7", &name]], false);
    assert!(text.ends_with(&format!("\n 7  {name}\n")), "{text}");
}

const KEY: [Column; 6] = [
    Column::text("id"),
    Column::text("account"),
    Column::text("state"),
    Column::day("issuedAt"),
    Column::minute("bannedUntil"),
    Column::text("successor"),
];

fn key(account: &'static str, banned: &'static str) -> Vec<&'static str> {
    let (id, successor) = ("key_4fQm0ZxW7yTb", "key_AAAABBBBCCCC");
    vec![id, account, "rotated", "2026-06-15T12:00:59Z", banned, successor]
}

#[test]
fn dates_are_short_and_empty_columns_left_out_except_in_a_wide_table() {
    let rows = [key("acme", "")];
    let banned = [key("acme", "2026-06-15T23:59:01Z")];
    let tables = [(&rows, false), (&rows, true), (&banned, false)];
    let tables = tables.map(|(rows, is_wide)| format_table(&KEY, rows, is_wide));
    assert_text(
        &tables.concat(),
        str![[r#"
id                account  state    issuedAt    successor
key_111111111111  acme     rotated  2026-06-15  key_222222222222
id                account  state    issuedAt              bannedUntil  successor
key_111111111111  acme     rotated  2026-06-15T12:00:59Z               key_222222222222
id                account  state    issuedAt    bannedUntil        successor
key_111111111111  acme     rotated  2026-06-15  2026-06-15 23:59Z  key_222222222222
"#]],
    );
}

#[test]
fn control_characters_in_names_are_replaced() {
    for is_wide in [true, false] {
        let text = format_table(&PET, &[vec!["7", "a\u{1b}[31m\nb"]], is_wide);
        assert_eq!(text, "id  name\n 7  a\u{fffd}[31m\u{fffd}b\n");
    }
}
