//! All promises hold with every rule, and without any one of them there is a way to break one.

use crate::model::{Broken, Cached, Protocol, Step};
use crate::search::search;

/// Every rule. A third change makes nine times as many worlds, and breaks nothing either.
const PROTOCOL: Protocol = Protocol {
    cached: Cached::Orders,
    changes: 2,
    restores: true,
    carries_wait_over: true,
    compares_servers: true,
    journal: true,
    sees_before_applying: true,
    judges_lease: true,
};

#[test]
fn no_world_breaks_a_promise() {
    for cached in [Cached::Orders, Cached::Keys] {
        let worlds = search(&Protocol { cached, ..PROTOCOL }).unwrap();
        assert!(worlds > 100_000, "{worlds} worlds are not all");
    }
}

#[test]
fn a_session_that_is_opened_again_must_not_shorten_the_wait() {
    let (broken, way) = search(&Protocol { carries_wait_over: false, ..PROTOCOL }).unwrap_err();
    let expected = [
        Step::Promote { up_to: 0, has_followed: true },
        Step::Open(0),
        Step::Open(0),
        Step::CarryOut { replica: 0, is_answered: true },
        // The other replica's session is to the primary that was replaced.
        Step::Check,
        Step::Judge,
    ];
    assert_eq!((broken, &way[..]), (Broken::ListShowsCancelledOrder, &expected[..]));
}

#[test]
fn two_promotions_to_one_timeline_are_told_apart_by_the_journal() {
    let protocol = Protocol { journal: false, restores: false, ..PROTOCOL };
    let (broken, way) = search(&Protocol { cached: Cached::Keys, ..protocol }).unwrap_err();
    let expected = [
        Step::Command { ends: false },
        Step::Promote { up_to: 1, has_followed: true },
        Step::Open(1),
        Step::Check,
        Step::Judge,
        Step::CatchUp,
        Step::Apply,
        // The first change came to the other standby neither by the first primary nor by this.
        Step::Promote { up_to: 0, has_followed: false },
        Step::Command { ends: false },
        Step::Open(1),
    ];
    assert_eq!((broken, &way[..]), (Broken::KeepsAnotherGeneration, &expected[..]));
    assert_eq!(search(&protocol).unwrap_err().0, Broken::KeepsAnotherGeneration);
}

#[test]
fn a_restore_in_place_is_told_by_the_journal() {
    let (broken, way) = search(&Protocol { journal: false, ..PROTOCOL }).unwrap_err();
    let expected = [
        Step::CarryOut { replica: 1, is_answered: true },
        Step::Acknowledge,
        Step::Restore { up_to: 0 },
        Step::Command { ends: false },
        Step::Open(1),
    ];
    assert_eq!((broken, &way[..]), (Broken::KeepsAnotherGeneration, &expected[..]));
}

#[test]
fn a_server_is_not_told_by_its_timeline() {
    let protocol = Protocol { compares_servers: false, restores: false, ..PROTOCOL };
    let (broken, way) = search(&protocol).unwrap_err();
    let expected = [
        Step::Promote { up_to: 0, has_followed: true },
        Step::Open(0),
        Step::Open(1),
        Step::Tick,
        Step::Tick,
        Step::Beat,
        Step::Promote { up_to: 0, has_followed: false },
        Step::Open(0),
        Step::CarryOut { replica: 0, is_answered: true },
        Step::Check,
        Step::Judge,
    ];
    assert_eq!((broken, &way[..]), (Broken::ListShowsCancelledOrder, &expected[..]));
}

#[test]
fn what_was_read_must_be_seen_before_it_is_applied() {
    let (broken, way) = search(&Protocol { sees_before_applying: false, ..PROTOCOL }).unwrap_err();
    let expected = [
        Step::Command { ends: false },
        Step::Check,
        Step::Judge,
        Step::Command { ends: false },
        Step::CatchUp,
        Step::Apply,
        Step::Promote { up_to: 1, has_followed: true },
        Step::Open(1),
    ];
    assert_eq!((broken, &way[..]), (Broken::KeepsAnotherGeneration, &expected[..]));
}

#[test]
fn a_replaced_primary_must_not_be_listed_from_for_longer_than_a_lease() {
    let (broken, way) = search(&Protocol { judges_lease: false, ..PROTOCOL }).unwrap_err();
    let expected = [
        Step::Promote { up_to: 0, has_followed: true },
        Step::Open(0),
        Step::Tick,
        Step::Tick,
        Step::CarryOut { replica: 0, is_answered: true },
        Step::Check,
        Step::Judge,
    ];
    assert_eq!((broken, &way[..]), (Broken::ListShowsCancelledOrder, &expected[..]));
}

#[test]
fn keys_of_a_replaced_primary_must_not_be_accepted_for_longer_than_a_lease() {
    let protocol = Protocol { cached: Cached::Keys, judges_lease: false, ..PROTOCOL };
    let (broken, way) = search(&protocol).unwrap_err();
    let expected = [
        Step::Promote { up_to: 0, has_followed: true },
        Step::Command { ends: true },
        Step::Tick,
        Step::Tick,
        Step::Tick,
        Step::Check,
        Step::Judge,
    ];
    assert_eq!((broken, &way[..]), (Broken::AcceptsRevokedKey, &expected[..]));
}
