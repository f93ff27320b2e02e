//! The content of a document as Rust types: records, enums, operations, errors and constants.
//! Together they are the contract.

use proc_macro2::{Ident, TokenStream};
use serde_json::Value;

/// An API document, reduced to the parts that the generated server code needs.
#[derive(Debug)]
pub struct Contract {
    pub title: String,
    pub version: String,
    /// The path of all URLs in `servers`, such as `/v1`; empty if their paths differ.
    pub base_path: String,
    pub constants: Vec<Constant>,
    /// The tables of numbers in `info`, such as `x-plans`.
    pub tables: Vec<Table>,
    /// The generated records and enums. The enums of a record's members precede the record, and the
    /// enums of operations come last.
    pub items: Vec<Item>,
    pub error: ErrorRecord,
    /// The responses in `components`, each with its errors.
    pub shared_errors: Vec<SharedErrors>,
    pub operations: Vec<Operation>,
}

/// A string of the document that becomes a constant in Rust.
#[derive(Clone, Debug)]
pub struct Constant {
    pub name: Ident,
    /// The doc comment; `None` if the name says enough.
    pub about: Option<String>,
    pub value: String,
}

/// A table in the document's `info`. Its rows have the same columns. Each value is an unsigned
/// 32-bit integer or `null`.
#[derive(Clone, Debug)]
pub struct Table {
    /// Name of the generated enum, which has a variant for each row.
    pub name: Ident,
    pub key: String,
    /// For each row: its variant in the enum, and its title in the document.
    pub rows: Vec<(Ident, String)>,
    /// For each column: the name of its generated getter, its title in the document, and its value
    /// in each row.
    pub columns: Vec<(Ident, String, Vec<Option<u32>>)>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    Boolean,
    /// An integer with inclusive bounds.
    Integer {
        format: IntegerFormat,
        min: Option<i64>,
        max: Option<i64>,
    },
    Text {
        pattern: Option<String>,
    },
    /// A date with time (RFC 3339).
    DateTime,
    Enum(EnumUse),
    Record(Ident),
    List(Box<Type>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct EnumUse {
    pub name: Ident,
    /// True if values may be added to the enum. Dropshot then emits the schema of a plain string.
    pub is_extensible: bool,
}

/// The `format` of an integer. Without a format, the integer has 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegerFormat {
    /// The schema has no `format`.
    Plain,
    Bits32,
    Bits64,
}

#[derive(Clone, Debug)]
pub enum Item {
    Record(Record),
    Enum(Enum),
}

#[derive(Clone, Debug)]
pub struct Record {
    pub name: Ident,
    /// The schema's name in the document. For an operation's parameters, the operation and the
    /// location, such as `ListOrdersQuery`.
    pub key: String,
    /// The description, which becomes the doc comment.
    pub description: Option<String>,
    /// The members, in the document's order.
    pub fields: Vec<Field>,
}

/// A member of an object, or a parameter.
#[derive(Clone, Debug)]
pub struct Field {
    pub name: Ident,
    /// The name in the document.
    pub key: String,
    /// The description, which becomes the doc comment.
    pub description: Option<String>,
    pub ty: Type,
    pub is_required: bool,
    /// The default of an optional parameter, as a Rust literal.
    pub default: Option<TokenStream>,
}

#[derive(Clone, Debug)]
pub struct Enum {
    pub name: Ident,
    /// Names from further parameters with the same values. `name` comes from the first such
    /// parameter.
    pub aliases: Vec<Ident>,
    /// The JSON pointer of the schema, without the first slash.
    pub key: String,
    /// For each value: its variant in Rust, its text in the document, and its description.
    pub values: Vec<(Ident, String, Option<String>)>,
    pub is_extensible: bool,
}

/// The Rust struct for the body of every error, with `code`, `message` and `status`.
#[derive(Clone, Debug)]
pub struct ErrorRecord {
    pub name: Ident,
    pub codes: Ident,
}

#[derive(Clone, Debug)]
pub struct Operation {
    pub id: String,
    pub method_name: Ident,
    /// The operation's name in the names of its types, such as `ListOrders` in `ListOrdersSuccess`.
    pub type_name: String,
    /// HTTP method, in capitals.
    pub method: Ident,
    /// The path as written in the document, with its parameters in braces.
    pub path: String,
    pub tags: Vec<String>,
    pub is_deprecated: bool,
    pub summary: Option<String>,
    /// The description, which becomes part of a doc comment.
    pub description: Option<String>,
    pub parameters: Vec<ParameterSet>,
    pub body: Option<Type>,
    /// Successes, by ascending status. Dropshot documents only the first.
    pub successes: Vec<Success>,
    /// The errors of the operation, except the errors of the responses in `shared`.
    pub errors: Vec<ErrorVariant>,
    /// The Rust names of the shared error responses in `components` that the operation can return.
    pub shared: Vec<Ident>,
}

#[derive(Clone, Debug)]
pub struct ParameterSet {
    pub location: Location,
    pub record: Record,
}

/// The part of a request that contains a parameter. Documents must list parameters in the order of
/// these variants, because dropshot emits parameters in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Location {
    Path,
    Query,
    Header,
}

impl Location {
    /// Returns the variant's name, which becomes part of the names of records and arguments.
    pub const fn as_str(self) -> &'static str {
        match self {
            Location::Path => "Path",
            Location::Query => "Query",
            Location::Header => "Header",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Success {
    /// The name of the response's variant in the operation's enum of successes.
    pub name: Ident,
    /// The name of the status's constant in the `http` crate.
    pub status: Ident,
    pub description: String,
    pub body: Option<Type>,
    /// Headers that are described in the response itself, not in `components`.
    pub headers: Vec<ResponseHeader>,
}

#[derive(Clone, Debug)]
pub struct ResponseHeader {
    pub name: Ident,
    /// The header's name in the document.
    pub key: String,
    /// The description, which becomes the doc comment.
    pub description: Option<String>,
    pub is_required: bool,
}

/// A response in `components`, which operations can share.
#[derive(Clone, Debug)]
pub struct SharedErrors {
    pub name: Ident,
    pub key: String,
    /// The response's errors, one for each code.
    pub variants: Vec<ErrorVariant>,
}

/// An error that a response can have. Each example of the response in the document becomes one
/// variant.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorVariant {
    /// The variant's name, the same as in the enum of error codes.
    pub name: Ident,
    pub code: String,
    pub status: u16,
    /// The `message` in this error's example.
    pub message: String,
}

/// True if the type has a bound or a pattern, which serde does not check.
pub fn has_bounds(ty: &Type) -> bool {
    match ty {
        Type::Integer { min, max, .. } => min.is_some() || max.is_some(),
        Type::Text { pattern } => pattern.is_some(),
        _ => false,
    }
}

pub fn default_value(ty: &Type, value: &Value) -> Option<TokenStream> {
    match (ty, value) {
        (Type::Boolean, Value::Bool(flag)) => Some(quote::quote!(#flag)),
        (Type::Integer { min, max, format }, Value::Number(number)) => {
            let number = number.as_i64()?;
            let is_within = min.is_none_or(|min| min <= number)
                && max.is_none_or(|max| number <= max)
                && (*format != IntegerFormat::Bits32 || i32::try_from(number).is_ok());
            let literal = proc_macro2::Literal::i64_unsuffixed(number);
            is_within.then(|| quote::quote!(#literal))
        }
        _ => None,
    }
}
