//! Schemas that no Rust type has by itself, for `#[schemars(with = "…")]`.

use schemars::JsonSchema;
use schemars::r#gen::SchemaGenerator;
use schemars::schema::{InstanceType, Schema, SchemaObject};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::marker::PhantomData;

/// What dropshot documents as a `T`. There is no value of it.
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

/// The schema of `T`, of which `null` is a value, and which is required where a field has it.
#[derive(Debug)]
pub struct Nullable<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for Nullable<T> {
    fn schema_name() -> String {
        <Option<T>>::schema_name()
    }

    fn is_referenceable() -> bool {
        false
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        <Option<T>>::json_schema(generator)
    }
}

/// The schema of `T` itself instead of a reference to it.
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

/// A type or a format that OpenAPI has and Rust has not.
pub trait Form {
    /// The type.
    const TYPE: InstanceType;
    /// The format.
    const FORMAT: Option<&'static str>;
}

/// The schema of a form.
#[derive(Debug)]
pub struct Of<F>(PhantomData<F>);

impl<F: Form> JsonSchema for Of<F> {
    fn schema_name() -> String {
        "Form".to_string()
    }

    fn is_referenceable() -> bool {
        false
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Schema::Object(SchemaObject {
            instance_type: Some(F::TYPE.into()),
            format: F::FORMAT.map(str::to_string),
            ..SchemaObject::default()
        })
    }
}

/// An integer without a format.
#[derive(Debug)]
pub enum PlainInteger {}

impl Form for PlainInteger {
    const TYPE: InstanceType = InstanceType::Integer;
    const FORMAT: Option<&'static str> = None;
}

/// A number without a format.
#[derive(Debug)]
pub enum PlainNumber {}

impl Form for PlainNumber {
    const TYPE: InstanceType = InstanceType::Number;
    const FORMAT: Option<&'static str> = None;
}

/// An object with any members.
#[derive(Debug)]
pub enum AnyObject {}

impl Form for AnyObject {
    const TYPE: InstanceType = InstanceType::Object;
    const FORMAT: Option<&'static str> = None;
}

/// Reads a member that may be absent, but not `null`.
pub fn not_null<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    T::deserialize(deserializer).map(Some)
}
