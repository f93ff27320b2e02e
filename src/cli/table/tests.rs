//! Tables of every width, and what they leave out.

use super::*;

fn written(columns: &[Column], rows: &[Vec<&str>], extent: Extent) -> String {
    let mut out = Vec::new();
    let mut table = TextTable::new(&mut out, columns.to_vec(), extent);
    for row in rows {
        let cells = columns.iter().zip(row).map(|(column, cell)| (column.name, *cell));
        table.add(&cells.collect()).unwrap();
    }
    table.finish().unwrap();
    String::from_utf8(out).unwrap()
}

const PET: [Column; 2] = [Column::number("id"), Column::name_of("name")];

#[test]
fn numbers_align_right_and_text_left() {
    let rows = [vec!["7", "Rex"], vec!["-1000", "Minka"]];
    for extent in [Extent::Wide, Extent::Short(None), Extent::Short(Some(80))] {
        assert_eq!(written(&PET, &rows, extent), "   id  name\n    7  Rex\n-1000  Minka\n");
    }
}

#[test]
fn without_rows_the_names_are_there() {
    assert_eq!(written(&PET, &[], Extent::Short(None)), "id  name\n");
}

#[test]
fn a_long_table_names_its_columns_once_and_keeps_them_in_place() {
    let mut rows = vec![vec!["1000000", ""]; ROWS_AT_ONCE];
    rows.push(vec!["7", "Minka"]);
    for extent in [Extent::Short(None), Extent::Short(Some(20))] {
        let text = written(&PET, &rows, extent);
        assert_eq!(text.matches("name").count(), 1);
        assert!(text.ends_with("\n1000000\n      7  Minka\n"), "{text}");
    }
}

#[test]
fn without_a_terminal_lines_have_any_length() {
    let name = "x".repeat(500);
    let text = written(&PET, &[vec!["7", &name]], Extent::Short(None));
    assert!(text.ends_with(&format!("\n 7  {name}\n")), "{text}");
}

#[test]
fn names_are_cut_where_the_terminal_ends_and_wide_letters_count_twice() {
    let name = "a name of quite some length";
    let rows = [vec!["7", name], vec!["8", "犬犬犬犬犬犬犬犬犬犬犬犬"]];
    let text = written(&PET, &rows, Extent::Short(Some(26)));
    assert_eq!(text, "id  name\n 7  a name of quite some…\n 8  犬犬犬犬犬犬犬犬犬犬…\n");
    assert!(text.lines().all(|line| line.width() <= 26), "{text}");
}

const KEY: [Column; 6] = [
    Column::text("id"),
    Column::name_of("account"),
    Column::text("state"),
    Column::day("issuedAt").left_out(2),
    Column::minute("bannedUntil"),
    Column::text("successor").left_out(1),
];

fn key(account: &'static str, banned: &'static str) -> Vec<&'static str> {
    let (id, successor) = ("key_4fQm0ZxW7yTb", "key_AAAABBBBCCCC");
    vec![id, account, "rotated", "2026-06-15T12:00:59Z", banned, successor]
}

#[test]
fn dates_are_short_and_empty_columns_left_out_except_in_a_wide_table() {
    let rows = [key("acme", "")];
    assert_eq!(
        written(&KEY, &rows, Extent::Short(None)),
        "id                account  state    issuedAt    successor\n\
         key_4fQm0ZxW7yTb  acme     rotated  2026-06-15  key_AAAABBBBCCCC\n"
    );
    assert_eq!(
        written(&KEY, &rows, Extent::Wide),
        "id                account  state    issuedAt              bannedUntil  successor\n\
         key_4fQm0ZxW7yTb  acme     rotated  2026-06-15T12:00:59Z               \
         key_AAAABBBBCCCC\n"
    );
    let text = written(&KEY, &[key("acme", "2026-06-15T23:59:01Z")], Extent::Short(None));
    assert!(text.contains("  2026-06-15 23:59Z  key_"), "{text}");
}

#[test]
fn a_narrow_terminal_loses_columns_by_rank_and_never_breaks_an_id() {
    let long = "a name as long as the longest that an account may have: 64 chars";
    let rows = [key(long, "2026-06-15T23:59:01Z"), key("b", "")];
    let shown = |width| {
        let text = written(&KEY, &rows, Extent::Short(Some(width)));
        assert_eq!(text.lines().count(), 3, "{text}");
        assert_eq!(text.matches("key_4fQm0ZxW7yTb").count(), 2, "{text}");
        assert!(text.lines().all(|line| line.width() <= width), "{width}: {text}");
        let names: Vec<String> =
            text.lines().next().unwrap().split_whitespace().map(str::to_string).collect();
        (names.len(), text.contains(long))
    };
    assert_eq!(shown(200), (6, true));
    assert_eq!(shown(98), (6, false));
    assert_eq!(shown(80), (5, false));
    assert_eq!(shown(66), (4, false));
}

#[test]
fn what_cannot_be_left_out_is_whole_even_on_the_narrowest_terminal() {
    let text = written(&KEY, &[key("acme corporation of somewhere", "")], Extent::Short(Some(10)));
    assert_eq!(
        text,
        "id                account               state\n\
         key_4fQm0ZxW7yTb  acme corporation of…  rotated\n"
    );
}

#[test]
fn a_control_character_in_a_name_reaches_no_terminal() {
    let text = written(&PET, &[vec!["7", "a\u{1b}[31m\nb"]], Extent::Short(Some(80)));
    assert_eq!(text, "id  name\n 7  a\u{fffd}[31m\u{fffd}b\n");
}
