//! Parses JSON strictly: a key that occurs twice in an object is an error.

use crate::pointer::pointer_to;
use crate::refusal::{Refusal, Refusals};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::fmt;

pub fn parse(text: &str) -> Result<Value, Refusals> {
    let duplicates = RefCell::new(Vec::new());
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value_reader = ValueReader { pointer: String::new(), duplicates: &duplicates };
    let parsed = value_reader
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    let refusal = |at: &String| Refusal::new(at, "is a duplicate key", "remove one of the two");
    let refusals: Vec<_> = duplicates.borrow().iter().map(refusal).collect();
    match parsed {
        Ok(value) if refusals.is_empty() => Ok(value),
        Ok(_) => Err(Refusals(refusals)),
        Err(error) => {
            Err(Refusals(vec![Refusal::new("", format!("is not JSON: {error}"), "correct it")]))
        }
    }
}

struct ValueReader<'d> {
    pointer: String,
    duplicates: &'d RefCell<Vec<String>>,
}

impl ValueReader<'_> {
    fn child(&self, token: &str) -> ValueReader<'_> {
        ValueReader { pointer: pointer_to(&self.pointer, token), duplicates: self.duplicates }
    }
}

impl<'de> DeserializeSeed<'de> for ValueReader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueReader<'_> {
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
            sequence.next_element_seed(self.child(&elements.len().to_string()))?
        {
            elements.push(element);
        }
        Ok(elements.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let child = self.child(&key);
            let pointer = child.pointer.clone();
            let value = members.next_value_seed(child)?;
            if object.insert(key, value).is_some() {
                self.duplicates.borrow_mut().push(pointer);
            }
        }
        Ok(object.into())
    }
}
