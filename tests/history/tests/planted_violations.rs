//! The checker accepts a possible history, and finds every violation planted in it.

use history::{Cancel, FinalTable, History, IdSet, List, violations};

/// Orders 1 to 5, of which 5 has shipped; 1 is cancelled from 10 to 20, 2
/// by a cancel that began at 30 and was never answered.
fn possible() -> History {
    History {
        orders: (1..=5).collect(),
        shipped: [5].into_iter().collect(),
        lists: vec![
            list(0, 5, &[1, 2, 3, 4, 5]),
            // Both under way with the cancel of 1: it may show it or not.
            list(12, 18, &[2, 3, 4, 5]),
            list(11, 16, &[1, 2, 3, 4, 5]),
            list(25, 28, &[2, 3, 4, 5]),
            list(31, 40, &[2, 3, 4, 5]),
            list(50, 60, &[3, 4, 5]),
        ],
        cancels: vec![
            cancel(1, 10, Some((20, 204))),
            cancel(1, 13, Some((22, 404))),
            cancel(2, 30, None),
            cancel(5, 1, Some((2, 409))),
            cancel(9, 1, Some((2, 404))),
            cancel(2, 70, Some((75, 404))),
        ],
        malformed: vec![],
        table: FinalTable {
            pending: [3, 4].into_iter().collect(),
            shipped: [5].into_iter().collect(),
            cancelled: [1, 2].into_iter().collect(),
        },
    }
}

fn list(begun: u64, ended: u64, ids: &[usize]) -> List {
    List { begun, ended, ids: ids.iter().copied().collect() }
}

fn cancel(id: i64, begun: u64, answer: Option<(u64, u16)>) -> Cancel {
    Cancel { id, begun, answer }
}

#[test]
fn a_possible_history_breaks_no_rule() {
    assert_eq!(violations(&possible()), Vec::<String>::new());
}

/// Each plants one violation, which is found.
#[test]
fn every_planted_violation_is_found() {
    type Plant = fn(&mut History);
    let plants: [(&str, Plant); 19] = [
        ("began after the 204", |h| h.lists.push(list(21, 24, &[1, 2, 3, 4, 5]))),
        ("incomplete", |h| h.lists.push(list(6, 9, &[2, 3, 4, 5]))),
        ("incomplete", |h| h.lists.push(list(80, 90, &[3, 5]))),
        ("shows an unknown", |h| h.lists.push(list(80, 90, &[3, 4, 5, 7]))),
        ("came back", |h| h.lists.push(list(80, 90, &[2, 3, 4, 5]))),
        ("second 204", |h| h.cancels.push(cancel(1, 80, Some((90, 204))))),
        ("second 204", |h| h.cancels.push(cancel(1, 10, Some((20, 204))))),
        ("no longer showed", |h| h.cancels.push(cancel(2, 80, Some((90, 204))))),
        ("pending order is answered 404", |h| h.cancels.push(cancel(3, 80, Some((90, 404))))),
        ("shipped order is not", |h| h.cancels.push(cancel(5, 80, Some((90, 204))))),
        ("pending order is answered 409", |h| h.cancels.push(cancel(3, 80, Some((90, 409))))),
        ("status that no cancel has", |h| h.cancels.push(cancel(3, 80, Some((90, 503))))),
        ("unknown order is not answered 404", |h| h.cancels.push(cancel(9, 8, Some((9, 204))))),
        ("malformed", |h| h.malformed.push("an object".to_string())),
        ("204 is not in the final table", |h| h.table.cancelled = IdSet::default()),
        ("not in the final table once", |h| h.table.pending = IdSet::default()),
        ("not in the final table once", |h| h.table.shipped.add(3)),
        ("that nobody cancelled", |h| h.table.cancelled.add(4)),
        ("not shipped in the final table", |h| h.table.shipped = IdSet::default()),
    ];
    for (expected, plant) in plants {
        let mut history = possible();
        plant(&mut history);
        let found = violations(&history);
        assert!(found.iter().any(|text| text.contains(expected)), "{expected}: {found:?}");
    }
}
