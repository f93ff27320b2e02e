//! Types with schemas that schemars does not derive, mostly for `#[schemars(with = "…")]`.

use schemars::JsonSchema;
use schemars::r#gen::SchemaGenerator;
use schemars::schema::{InstanceType, Schema, SchemaObject};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::marker::PhantomData;

/// A type that dropshot documents as `T`. Used only as a type, never as a value.
#[derive(Debug)]
pub struct Documented<T>(PhantomData<fn() -> T>);

impl<T: JsonSchema> JsonSchema for Documented<T> {
    fn schema_name() -> String {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn is_referenceable() -> bool {
        T::is_referenceable()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

impl<'de, T> Deserialize<'de> for Documented<T> {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom("it is only documented"))
    }
}

impl<T> Serialize for Documented<T> {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("it is only documented"))
    }
}

/// A type that is documented with the whole schema of `T`, not with a reference to it.
#[derive(Debug)]
pub struct Inline<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for Inline<T> {
    fn schema_name() -> String {
        T::schema_name()
    }

    fn is_referenceable() -> bool {
        false
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// Stands for an `i64` in `#[schemars(with = …)]`, because schemars would add a `format` that the
/// document does not have.
#[derive(Debug)]
pub enum PlainInteger {}

impl JsonSchema for PlainInteger {
    fn schema_name() -> String {
        "PlainInteger".to_string()
    }

    fn is_referenceable() -> bool {
        false
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        SchemaObject {
            instance_type: Some(InstanceType::Integer.into()),
            ..SchemaObject::default()
        }
        .into()
    }
}

/// Deserializes a member that may be absent but not `null`.
pub fn not_null<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    T::deserialize(deserializer).map(Some)
}
