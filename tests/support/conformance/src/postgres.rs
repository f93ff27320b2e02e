//! The PostgreSQL engine, and cases for this engine only. Each case gets a PostgreSQL server that
//! is already running, and most cases create their own databases there.
//!
//! | Module | Content |
//! |---|---|
//! | `database` | a new database and connections to it |
//! | `own_servers`, `durability` | cases that start their own PostgreSQL servers |
//! | `handbook` | checks the console sessions in the handbook; most of these cases start servers |
//! | `migrating`, `counting`, `granting`, `checking`, `restoring`, `importing`, `journal`, `replicas`, `connecting`, `sessions` | the other cases |

mod checking;
mod connecting;
mod counting;
mod database;
mod durability;
mod granting;
mod handbook;
mod importing;
mod journal;
mod migrating;
mod own_servers;
mod replicas;
mod restoring;
mod sessions;

pub use database::{Database, PostgresUnderTest};

/// A requirement that only the store in PostgreSQL must meet.
#[derive(Clone, Copy)]
pub struct PostgresCase {
    /// The requirement as a sentence in snake case.
    pub name: &'static str,
    /// Returns an error if the store violates the requirement. Do not call it on a thread of a
    /// Tokio runtime.
    pub run: fn(&PostgresUnderTest) -> anyhow::Result<()>,
}

pub fn postgres_cases() -> Vec<PostgresCase> {
    cases![PostgresCase:
        migrating::migrate_creates_the_store_once,
        migrating::a_migration_that_fails_changes_nothing,
        migrating::a_database_of_another_program_is_refused,
        migrating::commands_and_servers_exit_with_4_without_a_store_of_a_release,
        migrating::a_database_that_is_not_in_utf_8_is_refused,
        migrating::the_error_for_a_role_that_cannot_create_tables_names_a_fix,
        migrating::the_error_for_a_role_that_cannot_create_databases_names_a_fix,
        migrating::the_tables_are_created_in_the_first_schema_of_the_search_path,
        migrating::an_older_schema_is_refused_with_a_hint_to_migrate,
        migrating::a_compatible_migration_does_not_disturb_servers,
        migrating::a_migration_that_requires_a_newer_program_makes_servers_unready,
        counting::all_servers_count_in_one_separate_database,
        counting::concurrent_migrations_create_one_database,
        counting::a_new_store_id_removes_the_row_of_a_suspended_server,
        counting::counts_of_another_store_are_refused_and_follow_a_new_id,
        counting::banned_keys_and_zero_limits_are_refused_without_counting,
        granting::the_printed_grants_are_exactly_those_that_a_server_needs,
        granting::errors_about_missing_roles_databases_and_grants_name_a_fix,
        checking::check_reports_corrupt_rows,
        checking::a_missing_lock_row_is_an_error,
        importing::an_import_that_loses_its_connection_keeps_whole_steps,
        importing::a_command_waits_for_other_changes,
        importing::commands_do_not_wait_for_answers_while_they_hold_the_change_lock,
        importing::changes_before_a_command_gets_the_lock_are_not_ignored,
        importing::a_name_with_a_nul_character_is_refused,
        restoring::a_backup_of_the_embedded_store_is_restored_whole,
        restoring::the_tables_have_the_columns_of_the_embedded_store,
        restoring::a_restore_copies_every_column_or_fails,
        restoring::other_files_and_non_empty_stores_are_refused_without_changes,
        restoring::a_database_that_a_server_uses_is_not_restored,
        restoring::a_server_that_starts_during_a_restore_waits_with_the_reason,
        restoring::a_server_that_starts_before_a_backup_is_written_stops_the_restore,
        restoring::a_server_follows_tables_that_are_restored_under_it,
        restoring::a_recovered_store_gets_a_new_id,
        replicas::a_server_is_named_with_its_program_and_address,
        replicas::a_killed_server_is_silent_and_then_removed,
        replicas::a_killed_server_does_not_delay_commands,
        replicas::a_server_that_cannot_start_leaves_no_row,
        replicas::a_server_whose_row_was_removed_adds_it_again,
        replicas::a_change_of_the_address_or_the_list_is_in_the_servers_row_within_seconds,
        journal::rows_that_are_restored_under_a_server_are_read_again,
        journal::the_last_change_that_servers_have_seen_is_kept,
        journal::a_list_after_a_restore_is_refused,
        journal::old_changes_are_removed_except_the_last,
        sessions::uses_of_locked_keys_are_skipped,
        sessions::a_server_reports_that_it_cannot_cancel,
        sessions::no_request_is_executed_after_its_deadline,
        sessions::a_failed_statement_does_not_end_the_session,
        sessions::locked_counts_refuse_requests_but_keep_the_session,
        sessions::requests_are_not_counted_without_a_lease,
        sessions::a_ban_that_waits_for_the_change_lock_delays_nothing_else,
        sessions::rows_are_looked_up_while_old_changes_are_removed,
        sessions::pets_and_keys_are_read_while_orders_are_read,
        sessions::changed_keys_are_read_while_a_pet_is_looked_up,
        sessions::role_settings_do_not_affect_sessions,
        sessions::a_command_waits_for_a_server_regardless_of_clocks,
        sessions::sessions_and_their_server_use_tcp_keepalives,
        connecting::each_sslmode_accepts_the_right_certificates,
        connecting::errors_about_passwords_are_one_line_without_the_password,
        own_servers::a_server_starts_while_the_first_host_is_suspended,
        own_servers::servers_and_commands_leave_a_host_that_was_fenced_as_read_only,
        own_servers::an_order_is_shown_as_cancelled_once_the_standby_has_it,
        own_servers::a_list_with_confirm_lists_waits_for_the_standby,
        own_servers::sessions_that_a_suspended_standby_refuses_leave_no_connection,
        own_servers::a_server_warns_if_not_every_standby_must_confirm,
        durability::changed_standby_settings_are_logged_and_measured_in_an_open_session,
        durability::a_failover_between_primaries_without_synchronous_standbys_is_logged,
        durability::a_failover_to_a_primary_without_a_synchronous_standby_is_logged,
        own_servers::pets_are_looked_up_in_one_round_trip,
        own_servers::the_log_of_postgresql_is_the_audit_log,
        own_servers::near_the_wraparound_of_transaction_ids_servers_and_commands_work,
        handbook::the_runbook_shows_databases_that_are_away,
        handbook::the_runbook_shows_a_list_that_is_behind,
        handbook::the_handbook_shows_a_server_that_is_too_old,
        handbook::the_handbook_creates_a_store_and_its_roles,
        handbook::the_handbook_moves_a_store_from_sqlite,
    ]
}
