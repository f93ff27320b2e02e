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

/// What the code uses by these names.
const USED: [&str; 69] = [
    "AnyObject",
    "Answer",
    "Api",
    "ApiDescription",
    "BTreeMap",
    "Body",
    "Boolean",
    "Box",
    "DateTime",
    "Day",
    "Default",
    "Deserialize",
    "DocumentError",
    "DocumentedError",
    "DropshotApi",
    "Err",
    "Failure",
    "Form",
    "From",
    "Future",
    "HeaderMap",
    "HeaderValue",
    "Inline",
    "InstanceType",
    "Integer",
    "Invalid",
    "Json",
    "JsonBody",
    "JsonSchema",
    "NaiveDate",
    "NoBody",
    "NoContent",
    "None",
    "Nullable",
    "Number",
    "Of",
    "Ok",
    "OneOf",
    "Option",
    "Parameters",
    "Pattern",
    "PhantomData",
    "Place",
    "PlainInteger",
    "PlainNumber",
    "Request",
    "RequestContext",
    "Response",
    "Result",
    "SchemaGenerator",
    "Schemas",
    "Send",
    "Sent",
    "SentParameters",
    "Serialize",
    "Served",
    "ServerContext",
    "Some",
    "StatusCode",
    "Strict",
    "String",
    "Success",
    "Sync",
    "Text",
    "Time",
    "Utc",
    "UuidText",
    "Value",
    "Vec",
];

/// The name of a type for a schema of this name. One that the code uses is made another.
pub fn type_name(name: &str) -> Option<String> {
    let pascal = pascal(name)?;
    Some(if USED.contains(&pascal.as_str()) { pascal + "Schema" } else { pascal })
}

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
