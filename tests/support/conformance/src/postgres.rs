//! PostgreSQL under test: a server that somebody else started, in which each case has a
//! database of its own.
//!
//! | Module | Its job |
//! |---|---|
//! | `database` | a new database, and what uses it |
//! | `own_servers` | the cases that start servers themselves |
//! | `handbook` | the sessions of the handbook, on such servers |
//! | `migrating`, `counting`, `granting`, `checking`, `restoring`, `importing`, `journal`, `replicas`, `connecting`, `serving` | the other cases |

mod checking;
mod connecting;
mod counting;
mod database;
mod granting;
mod handbook;
mod importing;
mod journal;
mod migrating;
mod own_servers;
mod replicas;
mod restoring;
mod serving;

pub use database::{Database, PostgresUnderTest};

/// One thing that the store in PostgreSQL must do, beyond what every engine does.
#[derive(Clone, Copy)]
pub struct PostgresCase {
    /// What it is, as a sentence in snake case.
    pub name: &'static str,
    /// Fails if the store does not do it. It wants a thread that belongs to no runtime.
    pub run: fn(&PostgresUnderTest) -> anyhow::Result<()>,
}

/// Every case.
pub fn postgres_cases() -> Vec<PostgresCase> {
    cases![PostgresCase:
        migrating::migrate_creates_the_store_once,
        migrating::a_store_of_an_older_schema_goes_on,
        migrating::an_import_that_an_older_program_left_becomes_a_change,
        migrating::a_migration_that_fails_changes_nothing,
        migrating::a_database_of_another_program_is_refused,
        migrating::commands_and_servers_exit_with_4_without_a_store,
        migrating::a_database_that_is_not_in_utf_8_is_refused,
        migrating::a_role_that_may_not_create_tables_is_told_what_to_do,
        migrating::a_role_that_may_not_create_databases_is_told_what_to_do,
        migrating::the_tables_stand_in_the_first_schema_of_the_search_path,
        migrating::an_older_schema_is_refused_and_migrate_named,
        migrating::a_migration_that_this_program_survives_disturbs_no_server,
        migrating::a_migration_that_asks_for_a_newer_program_makes_a_server_unready,
        counting::all_servers_count_in_one_database_of_their_own,
        counting::migrations_at_once_create_one_database,
        counting::counts_in_the_database_of_an_older_store_are_removed,
        counting::a_server_that_was_suspended_during_a_new_id_finds_its_row_removed,
        counting::counts_of_another_store_are_refused_and_follow_a_new_id,
        counting::a_banned_key_and_a_shut_account_wait_for_no_count,
        granting::the_printed_grants_let_a_role_serve_and_no_more,
        granting::what_a_url_names_and_is_missing_is_told_with_what_to_do,
        checking::check_finds_what_is_wrong,
        checking::without_its_row_a_lock_is_refused,
        importing::an_import_whose_connection_is_lost_leaves_whole_steps,
        importing::a_command_waits_for_other_changes,
        importing::no_command_waits_for_an_answer_while_it_holds_the_lock_of_changes,
        importing::what_changed_before_a_command_had_the_lock_is_not_passed_over,
        importing::a_name_with_a_nul_character_is_refused,
        restoring::a_backup_of_the_embedded_store_is_restored_whole,
        restoring::what_is_no_backup_or_no_empty_store_is_refused_and_changes_nothing,
        restoring::a_database_that_a_server_uses_is_not_restored,
        restoring::a_server_that_starts_during_a_restore_is_told_of_it,
        restoring::a_server_that_starts_before_a_backup_is_written_stops_the_restore,
        restoring::tables_that_are_restored_under_a_server_begin_another_history,
        restoring::vacuum_full_begins_no_other_history,
        restoring::a_recovered_store_becomes_a_store_of_its_own,
        replicas::a_server_is_named_with_its_program_and_address,
        replicas::a_server_that_was_killed_is_silent_and_then_removed,
        replicas::a_server_that_was_killed_slows_no_command,
        replicas::a_server_whose_row_was_removed_adds_it_again,
        replicas::the_list_of_a_server_reflects_its_own_cancellations,
        journal::rows_that_are_restored_under_a_server_are_read_again,
        journal::what_servers_of_a_quiet_store_have_seen_stays,
        journal::a_list_after_a_restore_is_refused,
        journal::old_changes_are_removed_and_the_last_stays,
        serving::a_use_of_a_locked_key_is_left_and_the_others_are_recorded,
        serving::a_server_that_cannot_cancel_says_so,
        serving::no_request_is_carried_out_after_its_deadline,
        serving::a_statement_that_fails_ends_no_session,
        serving::counts_that_are_locked_refuse_requests_and_end_no_session,
        serving::a_ban_is_decided_without_waiting_and_stored_beside_other_changes,
        serving::pets_and_keys_are_read_while_orders_are_read,
        serving::changed_keys_are_read_while_a_pet_is_looked_up,
        serving::the_settings_of_a_role_change_no_session,
        serving::a_command_waits_for_a_server_whatever_the_clock_says,
        serving::either_side_of_a_connection_notices_that_the_other_is_gone,
        connecting::each_sslmode_takes_the_certificates_that_it_should,
        connecting::a_wrong_or_missing_password_is_refused_in_one_line_without_it,
        own_servers::a_server_starts_while_the_first_host_is_suspended,
        own_servers::servers_and_commands_leave_a_host_that_was_fenced_as_read_only,
        own_servers::an_order_is_shown_as_cancelled_once_the_standby_has_it,
        own_servers::a_list_with_confirm_lists_waits_for_the_standby,
        own_servers::pets_are_looked_up_in_one_round_trip,
        own_servers::near_the_wraparound_of_transaction_ids_servers_and_commands_work,
        handbook::the_runbook_shows_databases_that_are_away,
        handbook::the_runbook_shows_a_list_that_is_behind,
        handbook::the_handbook_shows_a_server_that_is_too_old,
        handbook::the_handbook_moves_a_store_from_sqlite,
    ]
}
