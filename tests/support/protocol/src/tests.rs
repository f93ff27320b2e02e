//! All promises hold, whatever happens. What is searched of lists is divided: all at once would be
//! a hundred million worlds. The largest part takes a minute and is searched each night alone: of
//! the mutants, each is found in the others.

use crate::hosts::ChangeScope;
use crate::search::search;
use crate::world::Scope;

/// Two changes with failovers, one question under way.
const SCOPE: Scope = Scope {
    half: ChangeScope::Orders,
    changes: 2,
    questions: 1,
    in_pages: false,
    has_failovers: true,
    restores: false,
    others: false,
    key_answers_wait: false,
};

#[track_caller]
fn expect_kept(scope: Scope) {
    let worlds = search(&scope);
    let worlds =
        worlds.unwrap_or_else(|(broken, way)| panic!("broken promise: {broken:?} after {way:?}"));
    println!("{worlds} worlds");
    assert!(worlds > 100_000, "{worlds} worlds are not all");
}

#[test]
#[ignore = "takes a minute; .ci/run nightly"]
fn no_world_with_two_changes_breaks_a_promise_of_lists() {
    expect_kept(SCOPE);
}

#[test]
fn no_world_with_a_restore_breaks_a_promise_of_lists() {
    expect_kept(Scope { changes: 1, restores: true, others: true, ..SCOPE });
}

#[test]
fn no_world_with_several_questions_breaks_a_promise_of_lists() {
    expect_kept(Scope { changes: 1, questions: 2, ..SCOPE });
}

#[test]
fn no_world_without_failovers_breaks_a_promise_of_lists() {
    expect_kept(Scope { changes: 3, has_failovers: false, restores: true, ..SCOPE });
}

#[test]
fn no_world_with_reads_in_pages_breaks_a_promise_of_lists() {
    expect_kept(Scope { changes: 3, in_pages: true, has_failovers: false, ..SCOPE });
}

#[test]
fn no_world_with_two_changes_breaks_a_promise_of_keys() {
    expect_kept(Scope { half: ChangeScope::Keys, ..SCOPE });
}

#[test]
fn no_world_with_slow_answers_breaks_a_promise_of_keys() {
    let (restores, others, key_answers_wait) = (true, true, true);
    expect_kept(Scope {
        half: ChangeScope::Keys,
        changes: 1,
        restores,
        others,
        key_answers_wait,
        ..SCOPE
    });
}
