//! Converts names of an OpenAPI document to Rust names.

use heck::{ToShoutySnakeCase, ToSnakeCase, ToUpperCamelCase};
use http::StatusCode;
use proc_macro2::{Ident, Span};

/// Returns the name of a field, a parameter or a method, such as `order_id` for `orderId`.
pub fn snake(name: &str) -> Option<Ident> {
    identifier(name, &name.to_snake_case())
}

/// Returns the name of a type or a variant, such as `OrderId` for `orderId`.
pub fn pascal(name: &str) -> Option<Ident> {
    identifier(name, &name.to_upper_camel_case())
}

/// Returns the name of a constant, such as `X_REQUEST_ID` for `x-request-id`.
pub fn shouty(name: &str) -> Option<Ident> {
    identifier(name, &name.to_shouty_snake_case())
}

/// Returns `converted` as an identifier. A keyword becomes a raw identifier, such as `r#type`. A
/// keyword that cannot be raw, such as `self`, gives `None`.
fn identifier(name: &str, converted: &str) -> Option<Ident> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let is_separator = |letter: char| "-_. ".contains(letter);
    if !name.chars().all(|letter| is_letter(letter) || is_separator(letter))
        || !converted.starts_with(|first: char| first.is_ascii_alphabetic())
        || !converted.chars().all(is_letter)
    {
        return None;
    }
    syn::parse_str(converted).or_else(|_| syn::parse_str(&format!("r#{converted}"))).ok()
}

/// Panics if the name is not a valid identifier.
pub fn ident(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

/// Returns two names of an HTTP status: a name for a Rust enum variant, and the name of the
/// constant in the `http` crate. For 404, they are `NotFound` and `NOT_FOUND`.
pub fn status(status: u16) -> Option<(Ident, Ident)> {
    let reason = StatusCode::from_u16(status).ok()?.canonical_reason()?;
    let plain: String = reason.chars().filter(|letter| *letter != '\'').collect();
    Some((pascal(&plain)?, shouty(&plain)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_rust_form_is_none() {
        let text = |name: Option<Ident>| name.map(|name| name.to_string());
        assert_eq!(text(snake("petId")).as_deref(), Some("pet_id"));
        assert_eq!(text(snake("type")).as_deref(), Some("r#type"));
        assert_eq!(text(pascal("rate_limit-exceeded")).as_deref(), Some("RateLimitExceeded"));
        assert_eq!(text(shouty("x-request-id")).as_deref(), Some("X_REQUEST_ID"));
        for odd in ["", "1st", "self", "r#", "a/b", "é", "HH:mm"] {
            assert_eq!(text(snake(odd)), None, "{odd}");
        }
    }

    #[test]
    fn a_status_has_the_name_of_its_reason() {
        let names = |code| status(code).map(|(name, constant)| format!("{name} {constant}"));
        assert_eq!(names(200).as_deref(), Some("Ok OK"));
        assert_eq!(names(404).as_deref(), Some("NotFound NOT_FOUND"));
        assert_eq!(names(299), None);
    }
}
