//! Names of a document as names in Rust.

use heck::{ToShoutySnakeCase, ToSnakeCase, ToUpperCamelCase};

/// What Rust keeps for itself. `self` and its like cannot be written raw either.
const KEYWORDS: [&str; 48] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

/// The name of a field, a parameter or a method.
pub fn snake(name: &str) -> Option<String> {
    let snake = name.to_snake_case();
    if KEYWORDS.contains(&snake.as_str()) {
        return Some(format!("r#{snake}"));
    }
    is_identifier(name, &snake).then_some(snake)
}

/// The name of a type or a variant.
pub fn pascal(name: &str) -> Option<String> {
    let pascal = name.to_upper_camel_case();
    (pascal != "Self" && is_identifier(name, &pascal)).then_some(pascal)
}

/// The name of a constant.
pub fn shouty(name: &str) -> Option<String> {
    let shouty = name.to_shouty_snake_case();
    is_identifier(name, &shouty).then_some(shouty)
}

/// Whether Rust takes the converted name, and nothing but separators of the name itself was lost.
fn is_identifier(name: &str, converted: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let is_separator = |letter: char| "-_. ".contains(letter);
    let begins = converted.chars().next().is_some_and(|first| first.is_ascii_alphabetic());
    let is_reserved = ["self", "super", "crate"].contains(&converted);
    begins
        && !is_reserved
        && converted.chars().all(is_letter)
        && name.chars().all(|letter| is_letter(letter) || is_separator(letter))
}
