//! JSON, of which nothing is dropped in silence: a key that stands twice is an error.

use crate::pointer::pointer_to;
use crate::refusal::{Refusal, Refusals};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::fmt;

/// The document in this text.
pub fn parse(text: &str) -> Result<Value, Refusals> {
    let doubled = RefCell::new(Vec::new());
    let mut reader = serde_json::Deserializer::from_str(text);
    let place = Place { pointer: String::new(), doubled: &doubled };
    let parsed = place.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    let refusal =
        |at: &String| Refusal::new(at, "stands twice in its object", "remove one of the two");
    let refusals: Vec<_> = doubled.borrow().iter().map(refusal).collect();
    match parsed {
        Ok(value) if refusals.is_empty() => Ok(value),
        Ok(_) => Err(Refusals(refusals)),
        Err(error) => {
            Err(Refusals(vec![Refusal::new("", format!("is not JSON: {error}"), "correct it")]))
        }
    }
}

/// A value at a place.
struct Place<'d> {
    pointer: String,
    doubled: &'d RefCell<Vec<String>>,
}

impl Place<'_> {
    fn inner(&self, token: &str) -> Place<'_> {
        Place { pointer: pointer_to(&self.pointer, token), doubled: self.doubled }
    }
}

impl<'de> DeserializeSeed<'de> for Place<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) =
            sequence.next_element_seed(self.inner(&elements.len().to_string()))?
        {
            elements.push(element);
        }
        Ok(elements.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let inner = self.inner(&key);
            let pointer = inner.pointer.clone();
            let value = members.next_value_seed(inner)?;
            if object.insert(key, value).is_some() {
                self.doubled.borrow_mut().push(pointer);
            }
        }
        Ok(object.into())
    }
}
