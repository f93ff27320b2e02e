//! The names of HTTP statuses.

use heck::{ToShoutySnakeCase, ToUpperCamelCase};
use http::StatusCode;

/// The name of a variant for this status, and the constant of the `http` crate.
pub fn names(status: u16) -> Option<(String, String)> {
    let reason = StatusCode::from_u16(status).ok()?.canonical_reason()?;
    let plain: String = reason.chars().filter(|letter| *letter != '\'').collect();
    Some((plain.to_upper_camel_case(), plain.to_shouty_snake_case()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_status_has_the_name_of_its_reason() {
        let names = |status| super::names(status).unwrap();
        assert_eq!(names(200), ("Ok".to_string(), "OK".to_string()));
        assert_eq!(names(404), ("NotFound".to_string(), "NOT_FOUND".to_string()));
        assert_eq!(names(418).1, "IM_A_TEAPOT");
        assert_eq!(super::names(299), None);
    }
}
