//! A document as the code sees it: types, operations, errors and constants, without JSON.

use proc_macro2::{Ident, TokenStream};
use serde_json::Value;

/// All that code is written from.
#[derive(Debug)]
pub struct Contract {
    /// `info.title`.
    pub title: String,
    /// `info.version`.
    pub version: String,
    /// Path in which every server's URL ends.
    pub base_path: String,
    /// Texts that programs read in the document.
    pub constants: Vec<Constant>,
    /// Tables of figures in `info`.
    pub tables: Vec<Table>,
    /// Records and enums, in the order of the document.
    pub items: Vec<Item>,
    /// The record that every error has as its body, with the enum of its codes.
    pub error: ErrorRecord,
    /// Responses of `components`, each with its errors.
    pub shared_errors: Vec<SharedErrors>,
    /// Operations, in the order of the document.
    pub operations: Vec<Operation>,
}

/// A text of the document.
#[derive(Clone, Debug)]
pub struct Constant {
    /// Name in Rust.
    pub name: Ident,
    /// Meaning, for a comment.
    pub about: String,
    /// Value.
    pub value: String,
}

/// A table of `info`: rows with the same columns, each an integer of 32 bits or `null`.
#[derive(Clone, Debug)]
pub struct Table {
    /// Name of the enum of its rows.
    pub name: Ident,
    /// Field of `info`.
    pub key: String,
    /// Variant and title of each row.
    pub rows: Vec<(Ident, String)>,
    /// Method and title of each column, with a figure for each row.
    pub columns: Vec<(Ident, String, Vec<Option<u32>>)>,
}

/// The type of a value, with its bounds.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// `true` or `false`.
    Boolean,
    /// An integer between two bounds, which belong to it.
    Integer {
        /// Its format.
        format: IntegerFormat,
        /// The least.
        min: Option<i64>,
        /// The greatest.
        max: Option<i64>,
    },
    /// A text, with its least and greatest number of characters and a regular expression.
    Text {
        /// Least number of characters.
        min_chars: Option<u64>,
        /// Greatest number of characters.
        max_chars: Option<u64>,
        /// Regular expression that it matches.
        pattern: Option<String>,
    },
    /// A UUID (RFC 9562).
    Uuid,
    /// A day (RFC 3339).
    Date,
    /// An instant (RFC 3339).
    DateTime,
    /// One of the values of an [`Enum`].
    Enum(EnumUse),
    /// A [`Record`] of this name.
    Record(Ident),
    /// A list of values.
    List {
        /// The type of each.
        item: Box<Type>,
        /// Least number of them.
        min_items: Option<u64>,
        /// Greatest number of them.
        max_items: Option<u64>,
    },
}

/// An enum where it is used.
#[derive(Clone, Debug, PartialEq)]
pub struct EnumUse {
    /// Its name.
    pub name: Ident,
    /// True if the schema stands in `components`, so that dropshot refers to it.
    pub is_component: bool,
    /// True if values may be added, so that the schema is that of any text.
    pub is_extensible: bool,
}

/// The formats of integers. One without a format is read as 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegerFormat {
    /// No format.
    Plain,
    /// `int32`.
    Bits32,
    /// `int64`.
    Bits64,
}

/// A type with a name.
#[derive(Clone, Debug)]
pub enum Item {
    /// An object.
    Record(Record),
    /// A text with listed values.
    Enum(Enum),
}

/// An object with known members.
#[derive(Clone, Debug)]
pub struct Record {
    /// Name in Rust.
    pub name: Ident,
    /// Name in the document.
    pub key: String,
    /// Description.
    pub description: Option<String>,
    /// Members.
    pub fields: Vec<Field>,
    /// True if other members are refused.
    pub is_closed: bool,
}

/// A member of an object, or a parameter.
#[derive(Clone, Debug)]
pub struct Field {
    /// Name in Rust.
    pub name: Ident,
    /// Name in the document.
    pub key: String,
    /// Description.
    pub description: Option<String>,
    /// Type.
    pub ty: Type,
    /// True if it is always there.
    pub is_required: bool,
    /// The value of an absent parameter, in Rust.
    pub default: Option<TokenStream>,
}

/// The values of a text.
#[derive(Clone, Debug)]
pub struct Enum {
    /// Name in Rust.
    pub name: Ident,
    /// Name in the document, or its place there.
    pub key: String,
    /// Description of a schema of `components`.
    pub description: Option<String>,
    /// Variant, text and description of each value.
    pub values: Vec<(Ident, String, Option<String>)>,
    /// True if the schema stands in `components`.
    pub is_component: bool,
    /// True if values may be added.
    pub is_extensible: bool,
}

/// The record of every error: `code`, `message` and `status`.
#[derive(Clone, Debug)]
pub struct ErrorRecord {
    /// Name of the record.
    pub name: Ident,
    /// Name of the enum of its codes.
    pub codes: Ident,
}

/// An operation.
#[derive(Clone, Debug)]
pub struct Operation {
    /// `operationId`.
    pub id: String,
    /// Name of its method.
    pub method_name: Ident,
    /// Beginning of the names of its types.
    pub type_name: String,
    /// HTTP method, in capitals.
    pub method: Ident,
    /// Path, as the document has it.
    pub path: String,
    /// Tags.
    pub tags: Vec<String>,
    /// True if it is deprecated.
    pub is_deprecated: bool,
    /// Summary.
    pub summary: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// Parameters, by where a request has them.
    pub parameters: Vec<ParameterSet>,
    /// Type of its JSON body.
    pub body: Option<Type>,
    /// Successes: first the one that dropshot documents, of the lowest status.
    pub successes: Vec<Success>,
    /// Errors that it has alone.
    pub errors: Vec<ErrorVariant>,
    /// Names of the responses of `components` that it shares.
    pub shared: Vec<Ident>,
}

/// The parameters of an operation in one part of a request.
#[derive(Clone, Debug)]
pub struct ParameterSet {
    /// The part.
    pub location: Location,
    /// The parameters, as members of a record.
    pub record: Record,
}

/// The parts of a request that have parameters, in the order of dropshot's document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Location {
    /// The path.
    Path,
    /// The query.
    Query,
    /// The headers.
    Header,
}

impl Location {
    /// The name in Rust of the extractor and of a variant.
    pub const fn as_str(self) -> &'static str {
        match self {
            Location::Path => "Path",
            Location::Query => "Query",
            Location::Header => "Header",
        }
    }
}

/// A success of an operation.
#[derive(Clone, Debug)]
pub struct Success {
    /// Name of its variant.
    pub name: Ident,
    /// Status, as a constant of the `http` crate.
    pub status: Ident,
    /// Description.
    pub description: String,
    /// Type of its JSON body.
    pub body: Option<Type>,
    /// Headers that the response describes itself.
    pub headers: Vec<ResponseHeader>,
}

/// A header of a response.
#[derive(Clone, Debug)]
pub struct ResponseHeader {
    /// Name in Rust.
    pub name: Ident,
    /// Name in the document.
    pub key: String,
    /// Description.
    pub description: Option<String>,
    /// True if it is always there.
    pub is_required: bool,
}

/// Errors that operations share.
#[derive(Clone, Debug)]
pub struct SharedErrors {
    /// Name in Rust.
    pub name: Ident,
    /// Name in the document.
    pub key: String,
    /// The errors.
    pub variants: Vec<ErrorVariant>,
}

/// An error: one for each code of a response.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorVariant {
    /// Name, which is that of its code's variant.
    pub name: Ident,
    /// Code.
    pub code: String,
    /// Status.
    pub status: u16,
    /// Description of the code.
    pub description: Option<String>,
    /// `message` of the example.
    pub message: String,
}

/// True if a value of this type, or one inside it, has bounds that serde does not check.
pub fn has_bounds(ty: &Type) -> bool {
    match ty {
        Type::Integer { min, max, .. } => min.is_some() || max.is_some(),
        Type::Text { min_chars, max_chars, pattern } => {
            min_chars.is_some() || max_chars.is_some() || pattern.is_some()
        }
        Type::Uuid => true,
        Type::List { item, min_items, max_items } => {
            min_items.is_some() || max_items.is_some() || has_bounds(item)
        }
        _ => false,
    }
}

/// The literal of a default, if it is a value of this type.
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
