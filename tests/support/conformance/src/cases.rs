//! The cases, by what they are about.

mod accounts;
mod cancelling;
mod following;
mod health;
mod importing;
mod keys;
mod listing_orders;
mod pets;
mod shipping;
mod tags;
mod updating;

use crate::engine::Case;

/// Every case.
pub fn all() -> Vec<Case> {
    cases![Case:
        health::a_new_store_is_empty_ready_and_sound,
        health::check_counts_what_the_store_holds,
        importing::an_import_stores_all_orders_or_none,
        importing::each_step_of_a_long_import_is_listed_at_once,
        importing::a_step_that_fails_leaves_those_before_it,
        importing::an_import_that_is_stopped_leaves_whole_steps,
        importing::an_id_given_twice_is_refused_or_skipped,
        importing::an_id_of_a_cancelled_order_is_never_used_again,
        importing::existing_ids_are_told_in_the_order_asked,
        importing::imports_at_once_store_each_id_once,
        importing::orders_are_cancelled_while_orders_are_imported,
        importing::orders_are_cancelled_while_pets_are_imported,
        listing_orders::lists_are_the_same_bytes_on_every_engine,
        listing_orders::orders_are_visited_once_in_pages_until_the_visitor_breaks,
        shipping::all_orders_are_shipped_or_none,
        updating::all_orders_are_updated_or_none,
        cancelling::a_cancellation_has_the_outcome_of_its_order,
        cancelling::a_cancelled_order_keeps_who_and_when,
        cancelling::a_cancellation_past_its_deadline_is_not_carried_out,
        cancelling::an_id_64_times_at_once_is_cancelled_once,
        cancelling::a_batch_raises_the_change_number_by_one_or_not_at_all,
        following::a_server_catches_up_with_imports_shipments_and_cancellations,
        following::a_list_after_many_changes_lacks_none_of_them,
        following::a_late_commit_is_never_hidden,
        following::a_long_import_is_never_hidden,
        tags::a_list_has_one_tag_on_every_server_until_an_order_changes,
        pets::pets_are_imported_all_or_none_and_found,
        accounts::accounts_are_created_once_and_listed_by_name,
        accounts::an_account_is_renamed_and_keeps_its_keys,
        accounts::a_closed_account_has_no_key_and_gets_none,
        accounts::plans_have_their_limits_and_enterprise_its_own,
        keys::a_key_is_issued_and_served,
        keys::a_rotated_key_overlaps_with_its_successor,
        keys::a_label_stays_over_a_rotation_unless_another_is_given,
        keys::a_key_is_revoked_once_and_for_good,
        keys::a_ban_is_stored_unless_the_key_has_another_and_is_lifted,
        keys::a_change_of_a_key_or_of_an_account_is_read_alone,
        keys::a_use_is_recorded_once_a_minute,
    ]
}
