//! Searches the model for broken promises. Each search covers only a [`Scope`], because the whole
//! model would take too long. The longest search takes a minute and runs only nightly. The other
//! searches are enough to detect every mutant in `tests/mutants.rs`.

use crate::hosts::ChangeScope;
use crate::search::search;
use crate::world::Scope;

/// The scope with the longest search. Some tests change some of its fields.
const SCOPE: Scope = Scope {
    change_scope: ChangeScope::Orders,
    changes: 2,
    queries: 1,
    reads_pages: false,
    has_failovers: true,
    has_restores: false,
    has_other_changes: false,
    delays_key_answers: false,
};

#[track_caller]
fn expect_promises_kept(scope: Scope) {
    let worlds = search(&scope);
    let worlds = worlds
        .unwrap_or_else(|(broken, steps)| panic!("broken promise: {broken:?} after {steps:?}"));
    println!("{worlds} worlds");
    assert!(worlds > 100_000, "{worlds} worlds are too few");
}

#[test]
#[ignore = "takes a minute; .ci/run nightly"]
fn no_world_with_two_changes_breaks_a_promise_of_lists() {
    expect_promises_kept(SCOPE);
}

#[test]
fn no_world_with_a_restore_breaks_a_promise_of_lists() {
    expect_promises_kept(Scope {
        changes: 1,
        has_restores: true,
        has_other_changes: true,
        ..SCOPE
    });
}

#[test]
fn no_world_with_concurrent_queries_breaks_a_promise_of_lists() {
    expect_promises_kept(Scope { changes: 1, queries: 2, ..SCOPE });
}

#[test]
fn no_world_without_failovers_breaks_a_promise_of_lists() {
    expect_promises_kept(Scope { changes: 3, has_failovers: false, has_restores: true, ..SCOPE });
}

#[test]
fn no_world_with_reads_in_pages_breaks_a_promise_of_lists() {
    expect_promises_kept(Scope { changes: 3, reads_pages: true, has_failovers: false, ..SCOPE });
}

#[test]
fn no_world_with_two_changes_breaks_a_promise_of_keys() {
    expect_promises_kept(Scope { change_scope: ChangeScope::Keys, ..SCOPE });
}

#[test]
fn no_world_with_slow_answers_breaks_a_promise_of_keys() {
    let (has_restores, has_other_changes, delays_key_answers) = (true, true, true);
    expect_promises_kept(Scope {
        change_scope: ChangeScope::Keys,
        changes: 1,
        has_restores,
        has_other_changes,
        delays_key_answers,
        ..SCOPE
    });
}
