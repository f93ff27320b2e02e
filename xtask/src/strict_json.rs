//! Reads JSON and says which keys stand twice in one object.
//!
//! `serde_json` keeps the last of two equal keys and says nothing. In a
//! document edited by hand the first one would be read by people, and by
//! nobody else.

use crate::compare::pointer_to;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// What a JSON text says.
#[derive(Debug)]
pub struct Strict {
    /// The value; of two equal keys it holds the last.
    pub value: Value,
    /// JSON pointers of the keys that stand more than once in their object.
    pub duplicates: Vec<String>,
}

/// Reads a JSON text. The error begins with the file's name, the line and the
/// column, in the form that editors open.
pub fn read(name: &str, text: &str) -> anyhow::Result<Strict> {
    let mut duplicates = Vec::new();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let seed = Element { pointer: String::new(), duplicates: &mut duplicates };
    let value = seed
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|error| {
            anyhow::anyhow!("{name}:{}:{}: no valid JSON: {error}", error.line(), error.column())
        })?;
    Ok(Strict { value, duplicates })
}

/// Reads the value at one pointer.
struct Element<'a> {
    pointer: String,
    duplicates: &'a mut Vec<String>,
}

impl Element<'_> {
    fn child(&mut self, token: &str) -> Element<'_> {
        Element { pointer: pointer_to(&self.pointer, token), duplicates: self.duplicates }
    }
}

impl<'de> DeserializeSeed<'de> for Element<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Element<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut sequence: A) -> Result<Value, A::Error> {
        let mut elements = Vec::new();
        loop {
            let position = elements.len().to_string();
            match sequence.next_element_seed(self.child(&position))? {
                Some(element) => elements.push(element),
                None => return Ok(Value::Array(elements)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let child = self.child(&key);
            let pointer = child.pointer.clone();
            let value = members.next_value_seed(child)?;
            if object.insert(key, value).is_some() && !self.duplicates.contains(&pointer) {
                self.duplicates.push(pointer);
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_what_serde_json_reads() {
        let text = r#"{"a":[null,true,-1,2,1.0,"x\n",{}],"b":{"c":18446744073709551615}}"#;
        let strict = read("x.json", text).unwrap();
        assert_eq!(strict.value, serde_json::from_str::<Value>(text).unwrap());
        assert!(strict.duplicates.is_empty());
    }

    #[test]
    fn names_each_key_that_stands_twice() {
        let strict =
            read("x.json", r#"{"a":1,"b":[{"c/d":1,"c/d":1,"c/d":2}],"a":{"e":3}}"#).unwrap();
        assert_eq!(strict.duplicates, ["/b/0/c~1d", "/a"]);
        assert_eq!(strict.value, json!({"a": {"e": 3}, "b": [{"c/d": 2}]}));
    }

    #[test]
    fn says_file_line_and_column_of_what_is_no_json() {
        for (text, place) in
            [("{\n  \"a\": 1,\n}", "x.json:3:1:"), ("{} x", "x.json:1:4:"), ("", "x.json:1:0:")]
        {
            let message = read("x.json", text).unwrap_err().to_string();
            assert!(message.starts_with(place), "{message}");
        }
    }
}
