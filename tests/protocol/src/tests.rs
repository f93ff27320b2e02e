//! All promises hold with every rule, and without any one of them there is a way to break one.

use crate::model::{Broken, Cached, Protocol};
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

/// Without a rule these steps are a shortest way to break the promise.
#[track_caller]
fn expect_broken(protocol: Protocol, promise: Broken, steps: &str) {
    let (broken, way) = search(&protocol).unwrap_err();
    let way: Vec<String> = way.iter().map(|step| format!("{step:?}")).collect();
    assert_eq!((broken, way.join(", ")), (promise, steps.to_string()));
}

#[test]
fn no_world_breaks_a_promise() {
    for cached in [Cached::Orders, Cached::Keys] {
        let worlds = search(&Protocol { cached, ..PROTOCOL }).unwrap();
        assert!(worlds > 100_000, "{worlds} worlds are not all");
    }
}

/// The other replica's session is to the primary that was replaced.
#[test]
fn a_session_that_is_opened_again_must_not_shorten_the_wait() {
    expect_broken(
        Protocol { carries_wait_over: false, ..PROTOCOL },
        Broken::ListShowsCancelledOrder,
        "Promote { up_to: 0, has_followed: true }, Open(0), Open(0), \
         CarryOut { replica: 0, is_answered: true }, Check, Judge",
    );
}

/// The first change came to the second standby neither by the first primary nor by the first
/// standby.
#[test]
fn two_promotions_to_one_timeline_are_told_apart_by_the_journal() {
    let protocol = Protocol { journal: false, restores: false, ..PROTOCOL };
    expect_broken(
        Protocol { cached: Cached::Keys, ..protocol },
        Broken::KeepsAnotherGeneration,
        "Command { ends: false }, Promote { up_to: 1, has_followed: true }, Open(1), Check, Judge, \
         CatchUp, Apply, Promote { up_to: 0, has_followed: false }, Command { ends: false }, \
         Open(1)",
    );
    assert_eq!(search(&protocol).unwrap_err().0, Broken::KeepsAnotherGeneration);
}

#[test]
fn a_restore_in_place_is_told_by_the_journal() {
    expect_broken(
        Protocol { journal: false, ..PROTOCOL },
        Broken::KeepsAnotherGeneration,
        "CarryOut { replica: 1, is_answered: true }, Acknowledge, Restore { up_to: 0 }, \
         Command { ends: false }, Open(1)",
    );
}

#[test]
fn a_server_is_not_told_by_its_timeline() {
    expect_broken(
        Protocol { compares_servers: false, restores: false, ..PROTOCOL },
        Broken::ListShowsCancelledOrder,
        "Promote { up_to: 0, has_followed: true }, Open(0), Open(1), Tick, Tick, Beat, \
         Promote { up_to: 0, has_followed: false }, Open(0), \
         CarryOut { replica: 0, is_answered: true }, Check, Judge",
    );
}

#[test]
fn what_was_read_must_be_seen_before_it_is_applied() {
    expect_broken(
        Protocol { sees_before_applying: false, ..PROTOCOL },
        Broken::KeepsAnotherGeneration,
        "Command { ends: false }, Check, Judge, Command { ends: false }, CatchUp, Apply, \
         Promote { up_to: 1, has_followed: true }, Open(1)",
    );
}

#[test]
fn a_replaced_primary_must_not_be_listed_from_for_longer_than_a_lease() {
    expect_broken(
        Protocol { judges_lease: false, ..PROTOCOL },
        Broken::ListShowsCancelledOrder,
        "Promote { up_to: 0, has_followed: true }, Open(0), Tick, Tick, \
         CarryOut { replica: 0, is_answered: true }, Check, Judge",
    );
}

#[test]
fn keys_of_a_replaced_primary_must_not_be_accepted_for_longer_than_a_lease() {
    expect_broken(
        Protocol { cached: Cached::Keys, judges_lease: false, ..PROTOCOL },
        Broken::AcceptsRevokedKey,
        "Promote { up_to: 0, has_followed: true }, Command { ends: true }, Tick, Tick, Tick, Check, \
         Judge",
    );
}
