//! The content of a document, the contract, as Rust types: records, enums, operations, errors and
//! constants.

use proc_macro2::{Ident, TokenStream};
use serde_json::Value;

/// The parts of a document from which the code is written.
#[derive(Debug)]
pub struct Contract {
    /// `info.title`.
    pub title: String,
    /// `info.version`.
    pub version: String,
    /// The path at the end of every server's URL.
    pub base_path: String,
    /// Texts of the document that programs use.
    pub constants: Vec<Constant>,
    /// The tables of numbers in `info`.
    pub tables: Vec<Table>,
    /// Records and enums, in the document's order.
    pub items: Vec<Item>,
    /// The record that is the body of every error, and the enum of its codes.
    pub error: ErrorRecord,
    /// The responses in `components`, each with its errors.
    pub shared_errors: Vec<SharedErrors>,
    /// Operations, in the document's order.
    pub operations: Vec<Operation>,
}

/// A text of the document.
#[derive(Clone, Debug)]
pub struct Constant {
    /// Name in Rust.
    pub name: Ident,
    /// The text of the comment.
    pub about: String,
    /// Value.
    pub value: String,
}

/// A table in `info`: rows with the same columns. Each figure is a 32-bit integer or `null`.
#[derive(Clone, Debug)]
pub struct Table {
    /// Name of the enum of the rows.
    pub name: Ident,
    /// Key in `info`.
    pub key: String,
    /// Variant and title of each row.
    pub rows: Vec<(Ident, String)>,
    /// Method and title of each column, with the figure of each row.
    pub columns: Vec<(Ident, String, Vec<Option<u32>>)>,
}

/// A type with its bounds.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// `true` or `false`.
    Boolean,
    /// An integer with inclusive bounds.
    Integer {
        /// The format.
        format: IntegerFormat,
        /// The inclusive lower bound.
        min: Option<i64>,
        /// The inclusive upper bound.
        max: Option<i64>,
    },
    /// A string.
    Text {
        /// The minimum number of characters.
        min_chars: Option<u64>,
        /// The maximum number of characters.
        max_chars: Option<u64>,
        /// The regular expression that the string must match.
        pattern: Option<String>,
    },
    /// A UUID (RFC 9562).
    Uuid,
    /// A date (RFC 3339).
    Date,
    /// A date with time (RFC 3339).
    DateTime,
    /// One of the values of an [`Enum`].
    Enum(EnumUse),
    /// A [`Record`] of this name.
    Record(Ident),
    /// A list of values.
    List {
        /// The type of the elements.
        item: Box<Type>,
        /// The minimum number of elements.
        min_items: Option<u64>,
        /// The maximum number of elements.
        max_items: Option<u64>,
    },
}

/// The use of an enum as a type.
#[derive(Clone, Debug, PartialEq)]
pub struct EnumUse {
    /// The name of the enum.
    pub name: Ident,
    /// True if the schema is in `components`: dropshot then emits a reference to it.
    pub is_component: bool,
    /// True if values may be added: dropshot then emits the schema of any string.
    pub is_extensible: bool,
}

/// A format of integers. Integers without a format are read as 64 bits.
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
    /// A string with listed values.
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
    /// True if unknown members are refused.
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
    /// True if it is required.
    pub is_required: bool,
    /// The default of an optional parameter, as a Rust literal.
    pub default: Option<TokenStream>,
}

/// An enum of strings.
#[derive(Clone, Debug)]
pub struct Enum {
    /// Name in Rust.
    pub name: Ident,
    /// Name in the document, or the pointer to an unnamed schema.
    pub key: String,
    /// The description, if the schema is in `components`.
    pub description: Option<String>,
    /// Variant, text and description of each value.
    pub values: Vec<(Ident, String, Option<String>)>,
    /// True if the schema is in `components`.
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
    /// Name of the handler's method.
    pub method_name: Ident,
    /// Prefix of the names of the operation's types.
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
    /// Parameters, grouped by their location.
    pub parameters: Vec<ParameterSet>,
    /// Type of its JSON body.
    pub body: Option<Type>,
    /// Successes, by ascending status. Dropshot documents only the first.
    pub successes: Vec<Success>,
    /// Errors that are not in a shared response.
    pub errors: Vec<ErrorVariant>,
    /// Names of the shared responses in `components`.
    pub shared: Vec<Ident>,
}

/// The parameters of an operation in one location.
#[derive(Clone, Debug)]
pub struct ParameterSet {
    /// The location.
    pub location: Location,
    /// The parameters, as members of a record.
    pub record: Record,
}

/// The locations of parameters in a request, in the order in which dropshot emits them.
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
    /// Returns the name of dropshot's extractor, which is also the name of the variant.
    pub const fn as_str(self) -> &'static str {
        match self {
            Location::Path => "Path",
            Location::Query => "Query",
            Location::Header => "Header",
        }
    }
}

/// A success response of an operation.
#[derive(Clone, Debug)]
pub struct Success {
    /// Name of the response's variant in the enum of the operation's successes.
    pub name: Ident,
    /// Status, as a constant of the `http` crate.
    pub status: Ident,
    /// Description.
    pub description: String,
    /// Type of its JSON body.
    pub body: Option<Type>,
    /// Headers that are described in the response itself, not in `components`.
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
    /// True if it is required.
    pub is_required: bool,
}

/// A response in `components`, which operations share.
#[derive(Clone, Debug)]
pub struct SharedErrors {
    /// Name in Rust.
    pub name: Ident,
    /// Name in the document.
    pub key: String,
    /// The errors.
    pub variants: Vec<ErrorVariant>,
}

/// An error: one code of a response.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorVariant {
    /// Name of the variant, the same as in the enum of codes.
    pub name: Ident,
    /// Code.
    pub code: String,
    /// Status.
    pub status: u16,
    /// Description of the code.
    pub description: Option<String>,
    /// The `message` in the example.
    pub message: String,
}

/// True if the type, or a type inside it, has bounds that serde does not check.
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

/// Returns the Rust literal of a default, if it is a valid value of the type.
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
