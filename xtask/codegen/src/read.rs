//! Reads a document into the types of [`crate::model`], and refuses everything outside
//! [`crate::subset`].

mod constants;
mod errors;
mod operations;
mod schemas;

use crate::model::{Contract, Item, Type};
use crate::names::{self, ident};
use crate::node::Node;
use crate::refusal::{Refusal, Refusals};
use crate::subset::{self, Construct};
use openapiv3::OpenAPI;
use proc_macro2::Ident;
use serde_json::Value;
use std::collections::BTreeMap;

/// Names that the generated code or Rust's prelude already uses. Types and constants from a
/// document must have other names.
pub const NAMES_IN_USE: &[&str] = &[
    "HandlerResponse",
    "Api",
    "ApiDescription",
    "Body",
    "Boolean",
    "Box",
    "CheckedBody",
    "DateTime",
    "Default",
    "Deserialize",
    "DocumentError",
    "DocumentedError",
    "DropshotApi",
    "Err",
    "ErrorBody",
    "Failure",
    "From",
    "HeaderMap",
    "HeaderValue",
    "Inline",
    "Integer",
    "Invalid",
    "Json",
    "JsonBody",
    "JsonSchema",
    "Location",
    "NoBody",
    "NoContent",
    "None",
    "Ok",
    "OneOf",
    "Option",
    "Parameters",
    "Pattern",
    "PhantomData",
    "PlainInteger",
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
    "Value",
    "Vec",
];

pub fn contract(document: &Value) -> Result<Contract, Refusals> {
    let root = Node::root(document);
    let mut reader = Reader {
        root: root.clone(),
        items: Vec::new(),
        refusals: Vec::new(),
        parameter_enums: Vec::new(),
        names: NAMES_IN_USE.iter().map(|name| (name.to_string(), String::new())).collect(),
    };
    if let Some(contract) = reader.contract().filter(|_| reader.refusals.is_empty()) {
        return Ok(contract);
    }
    let order = pointers(&root);
    reader
        .refusals
        .sort_by_key(|refusal| order.iter().position(|pointer| *pointer == refusal.pointer));
    Err(Refusals(reader.refusals))
}

fn pointers(node: &Node<'_>) -> Vec<String> {
    let members = node.members().map(|(_, member)| member);
    let inner = members.chain(node.elements()).flat_map(|inner| pointers(&inner));
    std::iter::once(node.pointer.clone()).chain(inner).collect()
}

struct Reader<'a> {
    root: Node<'a>,
    items: Vec<Item>,
    refusals: Vec<Refusal>,
    /// The values and the type of each parameter enum that was read. Parameters with the same
    /// values share the type.
    parameter_enums: Vec<(&'a Value, Type)>,
    /// The Rust names in use, each with the JSON pointer of its place in the document. The pointer
    /// is empty for [`NAMES_IN_USE`].
    names: BTreeMap<String, String>,
}

impl<'a> Reader<'a> {
    fn contract(&mut self) -> Option<Contract> {
        let root = self.root.clone();
        self.check_version()?;
        self.check_keys(&root, &subset::DOCUMENT);
        self.check_references(&root);
        for (key, construct) in [
            ("info", &subset::INFO),
            ("externalDocs", &subset::EXTERNAL_DOCS),
            ("components", &subset::COMPONENTS),
        ] {
            root.get(key).iter().for_each(|part| self.check_keys(part, construct));
        }
        self.check_security();
        self.check_is_openapi()?;
        let constants = self.constants();
        let tables = self.tables();
        self.component_schemas();
        let error = self.error_record()?;
        let shared_errors = self.shared_errors(&error);
        let operations = self.operations(&error, &shared_errors);
        let info = |key: &str| {
            root.get_path(&["info"]).and_then(|info| info.text(key)).unwrap_or_default()
        };
        Some(Contract {
            title: info("title").to_string(),
            version: info("version").to_string(),
            base_path: constants::base_path(&root),
            constants,
            tables,
            items: std::mem::take(&mut self.items),
            error,
            shared_errors,
            operations,
        })
    }

    fn check_version(&mut self) -> Option<()> {
        let root = self.root.clone();
        let version = root.text("openapi").unwrap_or_default();
        if version == "3.0" || version.starts_with("3.0.") {
            return Some(());
        }
        let place = root.get("openapi").unwrap_or(root);
        let problem = match version {
            "" => "has no `openapi`".to_string(),
            _ => format!("is of OpenAPI {version}"),
        };
        self.refuse(&place, problem, "write an OpenAPI 3.0 document");
        None
    }

    /// Refuses a document that the crate `openapiv3` cannot read. After an earlier refusal, skips
    /// the check and returns `None`.
    fn check_is_openapi(&mut self) -> Option<()> {
        if !self.refusals.is_empty() {
            return None;
        }
        let root = self.root.clone();
        let Err(error) = serde_json::from_value::<OpenAPI>(root.value.clone()) else {
            return Some(());
        };
        self.refuse(&root, format!("is not OpenAPI 3.0: {error}"), "write it as OpenAPI says");
        None
    }

    /// Checks that the document requires one bearer scheme for all operations, because the client
    /// supports nothing else.
    fn check_security(&mut self) {
        let root = self.root.clone();
        let schemes = root.get_path(&["components", "securitySchemes"]);
        let schemes: Vec<_> = schemes.iter().flat_map(Node::members).collect();
        for (_, scheme) in &schemes {
            self.check_keys(scheme, &subset::SECURITY_SCHEME);
            if (scheme.text("type"), scheme.text("scheme")) != (Some("http"), Some("bearer")) {
                let fix = "write one of the type http with the scheme bearer";
                self.refuse(scheme, "a security scheme other than bearer is not supported", fix);
            }
        }
        let is_required = |(name, scheme): &(&str, Node<'a>)| {
            let one = serde_json::json!([{ *name: [] }]);
            !scheme.pointer.is_empty() && root.value.get("security") == Some(&one)
        };
        if !matches!(schemes.as_slice(), [one] if is_required(one)) {
            let place = root.get("security").unwrap_or(root);
            let fix = "write one scheme, and require it here";
            self.refuse(&place, "a document requires one security scheme for all operations", fix);
        }
    }

    fn check_references(&mut self, node: &Node<'_>) {
        // `$ref` is not always a reference. Under `properties`, `$ref` may be a property's name.
        // Within examples, `$ref` may be any data.
        let is_properties = node.pointer.ends_with("/properties");
        if let Some(reference) = node.get("$ref").filter(|_| !is_properties) {
            let text = reference.value.as_str().unwrap_or_default();
            if !text.starts_with("#/") {
                let problem = format!("{text:?} leads out of the document");
                self.refuse(&reference, problem, "copy what it leads to into components");
            } else if self.root.target(text).is_none() {
                self.refuse(&reference, format!("{text} leads nowhere"), "add what it names");
            }
        }
        let is_free = |key: &str| {
            ["example", "examples", "default", "enum"].contains(&key) || key.starts_with("x-")
        };
        let members = node.members().filter(|(key, _)| !is_free(key) || is_properties);
        let inner: Vec<_> = members.map(|(_, member)| member).chain(node.elements()).collect();
        inner.iter().for_each(|inner| self.check_references(inner));
    }

    /// Records a place from which no code can be generated, with the problem and the fix.
    fn refuse(&mut self, node: &Node<'_>, problem: impl Into<String>, fix: impl Into<String>) {
        let refusal = Refusal::new(&node.pointer, problem, fix);
        if !self.refusals.contains(&refusal) {
            self.refusals.push(refusal);
        }
    }

    fn check_keys(&mut self, node: &Node<'_>, construct: &Construct) {
        for (key, member) in node.members() {
            if !construct.keys.contains(&key) && !key.starts_with("x-") {
                let (name, keys) = (construct.name, construct.keys.join(", "));
                let problem = format!("{name} with `{key}` is not supported");
                self.refuse(&member, problem, format!("leave it out; there may be {keys}"));
            }
        }
    }

    /// Follows a reference to a component of the given kind, such as `headers`, and returns the
    /// component's name and value. Refuses any other reference.
    fn component(&mut self, node: &Node<'a>, kind: &str) -> Option<(&'a str, Node<'a>)> {
        self.check_keys(node, &subset::REFERENCE);
        let reference = node.text("$ref")?;
        let name = reference.strip_prefix(&format!("#/components/{kind}/"));
        let name = name.filter(|name| !name.contains(['/', '~', '%']));
        let target = self.root.target(reference).filter(|target| target.get("$ref").is_none());
        let component = name.zip(target);
        if component.is_none() {
            self.refuse(node, format!("{reference} is none of components/{kind}"), "refer to one");
        }
        component
    }

    /// Returns `name`, which is the Rust form of `text`. If `text` has no Rust form, refuses `node`
    /// and returns `None`.
    fn require_name(&mut self, node: &Node<'_>, name: Option<Ident>, text: &str) -> Option<Ident> {
        if name.is_none() {
            let fix = "rename it: letters, then letters, digits or _";
            self.refuse(node, format!("{text:?} is not a name in Rust"), fix);
        }
        name
    }

    fn claim_name(&mut self, node: &Node<'_>, name: Option<Ident>, text: &str) -> Option<Ident> {
        let name = self.require_name(node, name, text)?;
        let other = self.names.insert(name.to_string(), node.pointer.clone());
        match other.filter(|other| *other != node.pointer) {
            None => Some(name),
            Some(other) => {
                let other = if other.is_empty() { "what the code uses" } else { &other };
                let problem = format!("is named {name} in Rust, as {other} is");
                self.refuse(node, problem, "rename one of them");
                None
            }
        }
    }

    /// Returns the Rust name of a member. Refuses a name that a member in `others` has. Also
    /// refuses `body` and `sent`, because the generated code uses these names.
    fn member_name<'n>(
        &mut self,
        node: &Node<'_>,
        key: &str,
        mut others: impl Iterator<Item = (&'n Ident, &'n str)>,
    ) -> Option<Ident> {
        let name = self.require_name(node, names::snake(key), key)?;
        if name == ident("body") || name == ident("sent") {
            self.refuse(node, format!("is named {name} in Rust, as a part is"), "rename it");
            return None;
        }
        match others.find(|(other, _)| **other == name) {
            None => Some(name),
            Some((_, other)) => {
                let problem = format!("is named {name} in Rust, as {other:?} is");
                self.refuse(node, problem, "rename one of them");
                None
            }
        }
    }

    /// Returns the description, which becomes a doc comment. Refuses a description that schemars
    /// would change when it reads this doc comment.
    fn description(&mut self, node: &Node<'a>) -> Option<String> {
        let text = node.text("description")?;
        let is_plain = |paragraph: &str| {
            let is_odd = paragraph.contains(['\n', '\t']) || paragraph.contains("  ");
            !is_odd && !paragraph.is_empty() && paragraph.trim() == paragraph
        };
        if text.starts_with(['#', '*']) || !text.split("\n\n").all(is_plain) {
            let place = node.get("description").unwrap_or(node.clone());
            let fix = "write paragraphs with an empty line between them";
            self.refuse(&place, "schemars cannot carry this description", fix);
        }
        Some(text.to_string())
    }
}
