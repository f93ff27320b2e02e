//! Tests that every engine imports and looks up pets in the same way.

use crate::engine::Engine;
use crate::records::refusal;
use anyhow::ensure;
use store_orders::store::{ImportOutcome, RecordKind, Records};
use store_orders_api::types::Pet;

fn pet(id: i64, name: &str) -> Pet {
    Pet { id, name: name.to_string() }
}

pub fn pets_are_imported_all_or_none_and_found(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    let name = |id| -> anyhow::Result<Option<String>> { Ok(store.pet(id)?.map(|pet| pet.name)) };
    let first = [pet(i64::MAX, "Rex"), pet(i64::MIN, ""), pet(0, "Zoë \u{1f415} 'x' \"y\" \\N\t")];
    let outcome = commands.import(Records::Pets(&first), false)?;
    ensure!(outcome == ImportOutcome { imported: 3, skipped: 0 }, "{outcome:?}");
    for pet in &first {
        ensure!(name(pet.id)?.as_ref() == Some(&pet.name), "{pet:?}");
    }
    ensure!(name(1)?.is_none());
    ensure!(commands.existing(RecordKind::Pet, &[1, 0, i64::MAX, 0])? == [0, i64::MAX, 0]);

    let more = [pet(5, "Minka"), pet(0, "Other")];
    let refused = refusal(commands.import(Records::Pets(&more), false))?;
    ensure!(refused == "pet 0 is already in the store", "{refused}");
    ensure!(name(5)?.is_none());
    let twice = [pet(6, "Minka"), pet(6, "Other")];
    let refused = refusal(commands.import(Records::Pets(&twice), false))?;
    ensure!(refused == "two pets have the same id", "{refused}");
    ensure!(name(6)?.is_none());
    let outcome = commands.import(Records::Pets(&more), true)?;
    ensure!(outcome == ImportOutcome { imported: 1, skipped: 1 }, "{outcome:?}");
    ensure!(name(5)?.as_deref() == Some("Minka") && name(0)?.as_deref() != Some("Other"));
    Ok(())
}
