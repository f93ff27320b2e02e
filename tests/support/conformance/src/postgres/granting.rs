//! Tests which rights a server's database role needs, and which rights the role must not have.

use super::database::PostgresUnderTest;
use crate::engine::Engine;
use crate::listing::{keys, list};
use crate::records::{NOW_MS, account_and_key, cancel, import, refusal};
use anyhow::{Context, ensure};
use store_orders::rate_limiter::{KeyBan, NewBan};
use store_orders::store::postgres::PostgresOperatorStore;
use store_orders::store::{CancelOutcome, Records};
use store_orders_api::types::Pet;

/// Statements that a server's role must not be able to execute.
const DENIED: [&str; 6] = [
    "DELETE FROM orders",
    "UPDATE orders SET pet_id = 1",
    "UPDATE changes SET change_number = 7",
    "UPDATE keys SET revoked_at = NULL",
    "UPDATE accounts SET plan = 'business'",
    "CREATE TABLE other (id int)",
];

pub fn the_printed_grants_are_exactly_those_that_a_server_needs(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let (role, commands) = (database.new_role()?, database.commands()?);
    database.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")?;
    for _ in 0..2 {
        database.grant(&role)?;
    }
    import(&*commands, [1, 2])?;
    commands.import(Records::Pets(&[Pet { id: 7, name: "Rex".to_string() }]), false)?;
    account_and_key(&*commands)?;

    let store = database.server_of(&role)?;
    store.require_ready()?;
    store.try_write()?;
    ensure!(list(&store)?.len() == 2);
    ensure!(cancel(&store, &[1])? == [CancelOutcome::Cancelled]);
    ensure!(store.pet(7)?.is_some());
    let key = keys(&store)?.into_values().next().context("a key")?;
    store.record_last_used(&[(key.key.row, NOW_MS)])?;
    ensure!(commands.key_records()?.iter().all(|record| record.key.used_at == Some(NOW_MS)));
    let ban = KeyBan { ends_at_ms: NOW_MS, seconds: 300, number: 1 };
    store.record_bans(&[NewBan { key: key.key.row, ban }])?;
    ensure!(commands.key_records()?.iter().all(|record| record.key.ban == ban));

    for statement in DENIED {
        let refused =
            database.as_role(&role, async |client| Ok(client.batch_execute(statement).await?));
        let error = refused.err().with_context(|| format!("allowed: {statement}"))?;
        ensure!(format!("{error:?}").contains("permission denied"), "{statement}: {error:?}");
    }
    let refused = refusal(import(&database.commands_of(&role)?, [3]))?;
    ensure!(refused.contains("migrate --print-grants ROLE"), "{refused}");
    ensure!(commands.order(3)?.is_none());
    Ok(())
}

pub fn errors_about_missing_roles_databases_and_grants_name_a_fix(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let without_grants = database.new_role()?;
    for (url, named, fix) in [
        (database.url_for(&without_grants), "permission denied", "migrate --print-grants ROLE"),
        (database.url_for("nobody_at_all"), "nobody_at_all", "fix: the user"),
        (database.url().replace("/store_", "/no_store_"), "no_store_", "createdb"),
    ] {
        let refused = PostgresOperatorStore::connect(&url.parse()?).err().context(named)?;
        let text = format!("{:#}", anyhow::Error::new(refused));
        let is_clear = text.contains(named) && text.contains(fix) && !text.contains('\n');
        ensure!(is_clear, "{text}");
    }
    let refused = refusal(database.server_of(&without_grants))?;
    ensure!(refused.contains("migrate --print-grants ROLE"), "{refused}");
    Ok(())
}
