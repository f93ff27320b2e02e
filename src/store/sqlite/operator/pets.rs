//! Pets as the operator handles them: imported.

use super::super::{SqliteStore, lock, reading, writing};
use super::{ImportOutcome, in_transaction};
use crate::store::StoreError;
use store_orders_api::types::Pet;

impl SqliteStore {
    /// Which of these pets are in the store already.
    pub fn existing_pets(
        &self,
        ids: impl IntoIterator<Item = i64>,
    ) -> Result<Vec<i64>, StoreError> {
        let connection = lock(&self.scanner);
        let mut statement =
            connection.prepare_cached("SELECT 1 FROM pets WHERE id = ?1").map_err(reading)?;
        let mut existing = Vec::new();
        for id in ids {
            if statement.exists([id]).map_err(reading)? {
                existing.push(id);
            }
        }
        Ok(existing)
    }

    /// Stores all of these pets or none. An id that is there already is refused,
    /// or passed over with `skip_existing`; `progress` is told after each.
    pub fn import_pets(
        &self,
        pets: &[Pet],
        skip_existing: bool,
        progress: &dyn Fn(),
    ) -> Result<ImportOutcome, StoreError> {
        in_transaction(self, |transaction| {
            let mut outcome = ImportOutcome::default();
            let mut statement = transaction
                .prepare_cached(
                    "INSERT INTO pets (id, name) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING",
                )
                .map_err(writing)?;
            for pet in pets {
                if statement.execute((pet.id, &pet.name)).map_err(writing)? == 1 {
                    outcome.imported += 1;
                } else if skip_existing {
                    outcome.skipped += 1;
                } else {
                    return Err(StoreError::Refused(format!(
                        "pet {} is already in the store; nothing was imported",
                        pet.id
                    )));
                }
                progress();
            }
            Ok(outcome)
        })
    }
}
