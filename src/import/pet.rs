//! Pets as a file writes them.

use super::fields::{INT64, LINE_OF_TEXT};
use super::{Fields, Reason, Record};
use store_orders_api::types::Pet;

impl Record for Pet {
    const NOUN: &'static str = "pet";
    const FIELDS: &'static [&'static str] = &["id", "name"];
    const REQUIRED: &'static [&'static str] = &["id", "name"];

    fn read(fields: &Fields<'_>) -> Result<Pet, Reason> {
        Ok(Pet {
            id: fields.required("id", &INT64)?,
            name: fields.required("name", &LINE_OF_TEXT)?,
        })
    }

    fn id(&self) -> i64 {
        self.id
    }
}
