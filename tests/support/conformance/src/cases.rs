//! The cases that every storage engine must pass, by topic.

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

pub fn all() -> Vec<Case> {
    cases![Case:
        health::a_new_store_is_empty_ready_and_sound,
        health::check_counts_the_rows_of_the_store,
        health::check_warns_of_ids_that_javascript_rounds,
        importing::an_import_stores_all_orders_or_none,
        importing::each_step_of_a_long_import_is_listed_at_once,
        importing::a_failed_step_keeps_the_steps_before_it,
        importing::a_stopped_import_keeps_whole_steps,
        importing::a_repeated_id_is_refused_or_skipped,
        importing::an_id_of_a_cancelled_order_is_never_used_again,
        importing::existing_ids_are_returned_in_the_order_of_the_query,
        importing::concurrent_imports_store_each_id_once,
        importing::orders_are_cancelled_while_orders_are_imported,
        importing::orders_are_cancelled_while_pets_are_imported,
        listing_orders::lists_are_the_same_bytes_on_every_engine,
        listing_orders::orders_are_visited_once_in_pages_until_the_visitor_breaks,
        shipping::all_orders_are_shipped_or_none,
        shipping::an_operator_cancels_all_orders_or_none,
        updating::all_orders_are_updated_or_none,
        cancelling::the_outcome_of_a_cancellation_depends_on_the_order,
        cancelling::a_cancelled_order_records_key_and_time,
        cancelling::a_cancellation_past_its_deadline_is_not_executed,
        cancelling::an_order_that_has_changed_after_a_position_is_not_cancelled,
        cancelling::of_64_concurrent_cancellations_one_succeeds,
        cancelling::a_batch_raises_the_change_number_by_one_or_not_at_all,
        following::a_server_catches_up_with_imports_shipments_and_cancellations,
        following::a_list_contains_all_of_many_changes,
        following::concurrent_commits_are_never_missed,
        following::concurrent_long_imports_are_never_missed,
        tags::a_list_has_one_tag_on_every_server_until_an_order_changes,
        pets::pets_are_imported_all_or_none_and_found,
        accounts::accounts_are_created_once_and_listed_by_name,
        accounts::an_account_is_renamed_and_keeps_its_keys,
        accounts::a_closed_account_has_no_key_and_gets_none,
        accounts::plans_have_fixed_limits_except_enterprise,
        keys::a_key_is_issued_and_served,
        keys::a_rotated_key_overlaps_with_its_successor,
        keys::a_rotation_keeps_the_label_unless_a_new_one_is_given,
        keys::a_key_is_revoked_once_and_for_good,
        keys::a_ban_is_stored_once_and_can_be_lifted,
        keys::only_changed_keys_and_accounts_are_read,
        keys::a_use_is_recorded_once_a_minute,
    ]
}
