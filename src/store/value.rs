//! Defines the values of parameters and columns in the SQL that both engines share.

use chrono::{DateTime, Timelike, Utc};
use std::str::FromStr;
use store_orders_api::types::utc_text;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Null,
    /// A number or a boolean; 0 is false.
    Integer(i64),
    Text(String),
    Blob(Vec<u8>),
}

pub trait Parameter {
    fn value(&self) -> Value;
}

pub trait FromValue: Sized {
    /// Returns `None` if the value has another type or is out of range.
    fn from_value(value: &Value) -> Option<Self>;
}

macro_rules! parameters {
    ($($type:ty: $parameter:ident => $value:expr;)*) => {$(
        impl Parameter for $type {
            fn value(&self) -> Value {
                let $parameter = self;
                $value
            }
        }
    )*};
}

macro_rules! columns {
    ($($type:ty: $variant:ident($value:ident) => $read:expr;)*) => {$(
        impl FromValue for $type {
            fn from_value(value: &Value) -> Option<$type> {
                if let Value::$variant($value) = value { $read } else { None }
            }
        }
    )*};
}

parameters! {
    i64: number => Value::Integer(*number);
    i32: number => Value::Integer((*number).into());
    u32: number => Value::Integer((*number).into());
    bool: is_true => Value::Integer((*is_true).into());
    &str: text => Value::Text(text.to_string());
    String: text => Value::Text(text.clone());
    Box<str>: text => Value::Text(text.to_string());
    StoredDate: date => Value::Text(utc_text(&date.0));
    [u8; 32]: bytes => Value::Blob(bytes.to_vec());
    Value: value => value.clone();
}

columns! {
    i64: Integer(number) => Some(*number);
    i32: Integer(number) => i32::try_from(*number).ok();
    bool: Integer(number) => Some(*number != 0);
    String: Text(text) => Some(text.clone());
    Box<str>: Text(text) => Some(Box::from(&**text));
    Vec<u8>: Blob(bytes) => Some(bytes.clone());
}

impl<T: Parameter> Parameter for Option<T> {
    fn value(&self) -> Value {
        self.as_ref().map_or(Value::Null, Parameter::value)
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &Value) -> Option<Option<T>> {
        if *value == Value::Null { Some(None) } else { T::from_value(value).map(Some) }
    }
}

/// An RFC 3339 date-time in UTC, with `Z`. A leap second is refused, because the store never
/// contains one: imports convert it to the next second.
#[derive(Clone, Copy, Debug)]
pub struct StoredDate(pub DateTime<Utc>);

impl FromStr for StoredDate {
    type Err = NotADate;

    fn from_str(text: &str) -> Result<StoredDate, NotADate> {
        let parsed = DateTime::parse_from_rfc3339(text).map_err(|_| NotADate)?;
        let is_leap_second = parsed.nanosecond() >= 1_000_000_000;
        if is_leap_second || !text.ends_with('Z') {
            Err(NotADate)
        } else {
            Ok(StoredDate(parsed.to_utc()))
        }
    }
}

#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("not a date in UTC")]
pub struct NotADate;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calendar_dates_in_utc_are_dates_of_the_store() {
        for (text, is_date) in [
            ("2026-12-24T09:30:00.5Z", true),
            ("2026-12-24T09:30:00+00:00", false),
            ("2026-02-30T09:30:00Z", false),
            ("2016-12-31T23:59:60Z", false),
        ] {
            assert_eq!(text.parse::<StoredDate>().is_ok(), is_date, "{text}");
        }
    }
}
