//! Reads operations with their parameters, bodies, successes and errors.

use super::Reader;
use crate::model::{
    EnumUse, ErrorRecord, ErrorVariant, Field, Item, Location, Operation, ParameterSet, Record,
    ResponseHeader, SharedErrors, Success, Type, default_value,
};
use crate::names::{ident, pascal, snake, status};
use crate::node::Node;
use crate::subset;
use heck::ToUpperCamelCase;
use http::HeaderName;
use proc_macro2::Ident;

impl<'a> Reader<'a> {
    pub(super) fn operations(
        &mut self,
        error: &ErrorRecord,
        shared: &[SharedErrors],
    ) -> Vec<Operation> {
        let paths = self.root.get("paths");
        let paths: Vec<_> = paths.iter().flat_map(Node::members).collect();
        let mut operations: Vec<Operation> = Vec::new();
        for (path, item) in &paths {
            self.check_path(path, item, &paths);
            self.check_keys(item, &subset::PATH);
            for (method, node) in item.members().filter(|(key, _)| subset::PATH.keys.contains(key))
            {
                let Some(operation) = self.operation((error, shared), path, method, &node) else {
                    continue;
                };
                operations.push(operation);
            }
        }
        operations
    }

    fn check_path(&mut self, path: &str, item: &Node<'_>, paths: &[(&str, Node<'_>)]) {
        let segments: Vec<&str> = segments(path).collect();
        for segment in &segments {
            let inner = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
            if inner.unwrap_or(segment).contains(['{', '}']) {
                let fix = "write a parameter as a whole segment";
                self.refuse(item, format!("{segment} is more than a parameter"), fix);
            }
        }
        if path != "/" && format!("/{}", segments.join("/")) != path {
            self.refuse(item, "a path begins with `/` and has no empty segment", "write it so");
        }
        // Compares only with the paths before this one, so that a conflict is reported once, at the
        // later path.
        for (other, _) in paths.iter().take_while(|(other, _)| *other != path) {
            if let Some((segment, other_segment)) = find_conflict(path, other) {
                let problem = format!(
                    "{segment} stands where {other} has {other_segment}, and dropshot does not tell \
                     them apart"
                );
                self.refuse(item, problem, "use the same parameter, or another path");
                return;
            }
        }
    }

    fn operation(
        &mut self,
        (error, shared): (&ErrorRecord, &[SharedErrors]),
        path: &str,
        method: &str,
        node: &Node<'a>,
    ) -> Option<Operation> {
        self.check_keys(node, &subset::OPERATION);
        let Some(id_node) = node.get("operationId") else {
            self.refuse(node, "an operation needs an `operationId`", "add it");
            return None;
        };
        let id = id_node.value.as_str()?;
        let method_name = self.require_name(&id_node, snake(id), id)?;
        let type_name = self.require_name(&id_node, pascal(id), id)?.to_string();
        for end in ["Success", "Error"] {
            self.claim_name(&id_node, pascal(&format!("{type_name}{end}")), id)?;
        }
        let summary = node.text("summary").map(str::to_string);
        if summary.as_ref().is_some_and(|text| {
            text.trim() != text
                || text.contains(['\n', '\t'])
                || text.contains("  ")
                || text.is_empty()
        }) {
            self.refuse(node, "the summary is not one line of text", "write one line");
        }
        let parameters = self.parameters(&type_name, node);
        self.check_path_parameters(path, node, &parameters);
        let body = node.get("requestBody").and_then(|body| self.request_body(&body));
        let successes = self.successes(&type_name, node);
        let (errors, shared) = self.errors(error, shared, node);
        let tags = node.get("tags");
        let tags = tags.iter().flat_map(Node::elements).filter_map(|tag| tag.value.as_str());
        Some(Operation {
            id: id.to_string(),
            method_name,
            type_name,
            method: ident(&method.to_uppercase()),
            path: path.to_string(),
            tags: tags.map(str::to_string).collect(),
            is_deprecated: node.is_true("deprecated"),
            summary,
            description: node.text("description").map(str::to_string),
            parameters,
            body,
            successes,
            errors,
            shared,
        })
    }

    fn parameters(&mut self, type_name: &str, node: &Node<'a>) -> Vec<ParameterSet> {
        let mut sets: Vec<ParameterSet> = Vec::new();
        let list = node.get("parameters");
        if let Some(list) = list.as_ref().filter(|list| list.elements().next().is_none()) {
            self.refuse(list, "an empty list of parameters has no effect", "leave it out");
        }
        for parameter in list.iter().flat_map(Node::elements) {
            self.check_keys(&parameter, &subset::PARAMETER);
            let location = match parameter.text("in") {
                Some("path") => Location::Path,
                Some("query") => Location::Query,
                Some("header") => Location::Header,
                _ => {
                    let fix = "write it here, in path, query or header";
                    self.refuse(&parameter, "this parameter is not supported", fix);
                    continue;
                }
            };
            if sets.last().is_some_and(|set| set.location > location) {
                let fix = "write first those of the path, then of the query, then headers";
                self.refuse(&parameter, "dropshot emits parameters in another order", fix);
            }
            if sets.last().is_none_or(|set| set.location != location) {
                let key = format!("{type_name}{}", location.as_str());
                let Some(name) = self.claim_name(&parameter, pascal(&key), &key) else { continue };
                let (description, fields) = (None, Vec::new());
                let record = Record { name, key, description, fields };
                sets.push(ParameterSet { location, record });
            }
            let Some(set) = sets.last_mut() else { continue };
            if let Some(field) = self.parameter(type_name, location, &parameter, &set.record.fields)
            {
                set.record.fields.push(field);
            }
        }
        sets
    }

    fn parameter(
        &mut self,
        type_name: &str,
        location: Location,
        node: &Node<'a>,
        others: &[Field],
    ) -> Option<Field> {
        let (Some(key), Some(schema)) = (node.text("name"), node.get("schema")) else {
            self.refuse(node, "a parameter needs `name` and `schema`", "add them");
            return None;
        };
        let place = node.get("name").unwrap_or(node.clone());
        let others = others.iter().map(|field| (&field.name, field.key.as_str()));
        let name = if location == Location::Header {
            self.header_name(&place, key, &["Accept", "Content-Type", "Authorization"])?;
            self.member_name(&place, &key.to_lowercase(), others)?
        } else {
            self.member_name(&place, key, others)?
        };
        let hint = format!("{type_name}{}", key.to_upper_camel_case());
        let ty = self.parameter_type(&schema, &hint)?;
        let is_supported = match &ty {
            Type::Record(_) | Type::List(_) => false,
            Type::Enum(of) => !of.is_extensible,
            _ => true,
        };
        if !is_supported {
            let fix = "write a string, integer, boolean or enum";
            self.refuse(&schema, "a parameter of this schema is not supported", fix);
            return None;
        }
        let is_required = node.is_true("required");
        if location == Location::Path && !is_required {
            self.refuse(node, "a parameter of the path is required", "write `required: true`");
        }
        if let Some(inner) = schema.get("description") {
            self.refuse(
                &inner,
                "is lost beside the description of the parameter",
                "write it there",
            );
        }
        let default = schema.get("default").and_then(|default| {
            let value = default_value(&ty, default.value).filter(|_| !is_required);
            if value.is_none() {
                let problem = "this default is not supported";
                let fix = "write one of the schema, at an optional boolean or integer";
                self.refuse(&default, problem, fix);
            }
            value
        });
        let description = self.description(node);
        Some(Field { name, key: key.to_string(), description, ty, is_required, default })
    }

    /// Reads the type of a parameter. Parameters with the same values share one enum. The first of
    /// these parameters gives the enum its name.
    fn parameter_type(&mut self, schema: &Node<'a>, hint: &str) -> Option<Type> {
        let Some(values) = schema.get("enum") else { return self.schema(schema, hint) };
        let mut shared = self.parameter_enums.iter();
        if let Some((_, shared)) = shared.find(|(known, _)| *known == values.value) {
            let shared = shared.clone();
            self.check_enum_keys(schema);
            self.add_alias(schema, &shared, hint)?;
            return Some(shared);
        }
        let ty = self.schema(schema, hint)?;
        self.parameter_enums.push((values.value, ty.clone()));
        Some(ty)
    }

    /// Adds `alias`, the name that a later parameter would give an enum. The enum has the name from
    /// the first parameter that uses it. With the aliases, no name disappears if a later document
    /// changes the order of the parameters.
    fn add_alias(&mut self, schema: &Node<'a>, shared: &Type, alias: &str) -> Option<()> {
        let alias = self.claim_name(schema, pascal(alias), alias)?;
        let mut items = self.items.iter_mut();
        let Type::Enum(EnumUse { name, .. }) = shared else { return Some(()) };
        if let Some(Item::Enum(of)) =
            items.find(|item| matches!(item, Item::Enum(of) if of.name == *name))
        {
            of.aliases.push(alias);
        }
        Some(())
    }

    /// Checks that the operation declares exactly the parameters that its path contains.
    fn check_path_parameters(&mut self, path: &str, node: &Node<'_>, sets: &[ParameterSet]) {
        let set = sets.iter().find(|set| set.location == Location::Path);
        let declared: Vec<&str> =
            set.iter().flat_map(|set| &set.record.fields).map(|field| &*field.key).collect();
        let mut in_path: Vec<&str> =
            segments(path).filter_map(|of| of.strip_prefix('{')?.strip_suffix('}')).collect();
        let place = node.get("parameters").unwrap_or(node.clone());
        for name in in_path.iter().filter(|name| !declared.contains(name)) {
            let problem = format!("{{{name}}} of the path is not a parameter of the operation");
            self.refuse(&place, problem, "add it here");
        }
        for name in declared.iter().filter(|name| !in_path.contains(name)) {
            self.refuse(&place, format!("{name:?} is not in the path"), "remove it");
        }
        in_path.sort_unstable();
        if in_path.windows(2).any(|pair| matches!(pair, [one, other] if one == other)) {
            self.refuse(node, "the path has a parameter twice", "rename one of them");
        }
    }

    fn request_body(&mut self, node: &Node<'a>) -> Option<Type> {
        self.check_keys(node, &subset::BODY);
        if !node.is_true("required") {
            self.refuse(
                node,
                "a body that may be absent is not supported",
                "write `required: true`",
            );
        }
        let media = node.get("content").and_then(|content| self.json(&content))?;
        let ty = self.schema(&media.get("schema")?, "")?;
        if !matches!(ty, Type::Record(_)) {
            self.refuse(&media, "the body of a request is an object", "refer to one of components");
        }
        Some(ty)
    }

    /// Returns the media type object of `application/json`. Refuses content that has another media
    /// type, or none.
    pub(super) fn json(&mut self, content: &Node<'a>) -> Option<Node<'a>> {
        let kinds: Vec<_> = content.members().collect();
        let [("application/json", media)] = kinds.as_slice() else {
            let problem = "content other than `application/json` alone is not supported";
            self.refuse(content, problem, "write that one");
            return None;
        };
        self.check_keys(media, &subset::MEDIA_TYPE);
        if media.get("schema").is_none() {
            self.refuse(media, "JSON needs a `schema`", "add it");
        }
        Some(media.clone())
    }

    /// Reads the successes (2xx and 304), by ascending status.
    fn successes(&mut self, type_name: &str, node: &Node<'a>) -> Vec<Success> {
        let responses = node.get("responses");
        let responses = responses.iter().flat_map(Node::members);
        let mut responses: Vec<_> =
            responses.filter(|(status, _)| status.starts_with(['2', '3'])).collect();
        responses.sort_by_key(|(status, _)| *status);
        if responses.first().is_none_or(|(status, _)| !status.starts_with('2')) {
            let place = node.get("responses").unwrap_or(node.clone());
            self.refuse(&place, "an operation needs a success", "write 200 or the like");
        }
        let read = |(code, response): &(&str, Node<'a>)| self.success(type_name, code, response);
        responses.iter().filter_map(read).collect()
    }

    fn success(&mut self, type_name: &str, code: &str, node: &Node<'a>) -> Option<Success> {
        self.check_keys(node, &subset::SUCCESS);
        let names =
            code.parse().ok().and_then(status).filter(|_| code.starts_with('2') || code == "304");
        let Some((name, constant)) = names else {
            let fix = "write one such as 200, or 304";
            self.refuse(node, format!("{code} is not the status of a success"), fix);
            return None;
        };
        let content = node.get("content");
        if let Some(content) = content.as_ref().filter(|_| ["204", "205", "304"].contains(&code)) {
            self.refuse(content, format!("a response of {code} has no content"), "leave it out");
        }
        let media = content.and_then(|content| self.json(&content));
        let schema = media.and_then(|media| media.get("schema"));
        let body = schema.and_then(|schema| self.schema(&schema, &format!("{type_name}{name}")));
        let description = node.text("description").unwrap_or_default().to_string();
        Some(Success { name, status: constant, description, body, headers: self.headers(node) })
    }

    /// Reads the headers that the response defines. For references to `components`, only checks the
    /// reference, because the middleware sets such headers.
    pub(super) fn headers(&mut self, response: &Node<'a>) -> Vec<ResponseHeader> {
        let mut response_headers: Vec<ResponseHeader> = Vec::new();
        let headers = response.get("headers");
        for (key, node) in headers.iter().flat_map(Node::members) {
            if node.get("$ref").is_some() {
                self.component(&node, "headers");
                continue;
            }
            self.check_header(&node);
            let Some(name) = self.header_name(&node, key, &["Content-Type"]) else { continue };
            let others = response_headers.iter().map(|header| (&header.name, header.key.as_str()));
            if self.member_name(&node, &key.to_lowercase(), others).is_none() {
                continue;
            }
            let description = node.text("description").map(str::to_string);
            let is_required = node.is_true("required");
            response_headers.push(ResponseHeader {
                name,
                key: key.to_string(),
                description,
                is_required,
            });
        }
        response_headers
    }

    /// Checks the keys of a header and of its schema. The generated code does not check a header's
    /// values against the schema. Only tests do.
    pub(super) fn check_header(&mut self, header: &Node<'_>) {
        self.check_keys(header, &subset::HEADER);
        let schema = header.get("schema").filter(|schema| schema.get("$ref").is_none());
        if let Some(schema) = schema
            && let Some(outside) = subset::outside_of_schema(schema.value)
        {
            let problem = format!("{outside} is not supported in a header");
            self.refuse(
                &schema,
                problem,
                "leave it out; xtask/README.md lists what a header may use",
            );
        }
    }

    /// Returns the Rust name of a header. Refuses the headers in `ignored`, because OpenAPI ignores
    /// their definitions at `node`.
    fn header_name(&mut self, node: &Node<'_>, key: &str, ignored: &[&str]) -> Option<Ident> {
        if ignored.iter().any(|name| name.eq_ignore_ascii_case(key)) {
            let problem = format!("OpenAPI ignores a header {key:?} here");
            self.refuse(node, problem, "leave it out");
            return None;
        }
        let name = snake(&key.to_lowercase()).filter(|_| HeaderName::try_from(key).is_ok());
        self.require_name(node, name, key)
    }

    /// Returns the errors that the operation itself defines, and the Rust names of the shared
    /// responses with its other errors.
    fn errors(
        &mut self,
        error: &ErrorRecord,
        all_shared: &[SharedErrors],
        node: &Node<'a>,
    ) -> (Vec<ErrorVariant>, Vec<Ident>) {
        let (mut errors, mut shared) = (Vec::new(), Vec::new());
        let responses = node.get("responses");
        for (code, response) in responses.iter().flat_map(Node::members) {
            if code.starts_with(['2', '3']) || code.starts_with("x-") {
                continue;
            }
            let is_status = code == "5XX"
                || code
                    .parse()
                    .is_ok_and(|code: u16| (400..600).contains(&code) && status(code).is_some());
            if !is_status {
                let fix = "write one such as 404, or 5XX";
                self.refuse(&response, format!("{code} is not the status of an error"), fix);
                continue;
            }
            if response.get("$ref").is_none() {
                let response_errors = self.response_errors(error, Some(code), &response);
                // If this response has the same errors as a shared response, the operation uses the
                // type of the shared response. The headers of the two responses may differ.
                match all_shared.iter().find(|shared| shared.variants == response_errors) {
                    Some(same) => shared.push(same.name.clone()),
                    None => errors.extend(response_errors),
                }
            } else if let Some((key, target)) = self.component(&response, "responses") {
                // This call only checks that the examples have the status `code`. Ignore the
                // returned errors, because `all_shared` already contains them.
                self.response_errors(error, Some(code), &target);
                shared.extend(pascal(key));
            }
        }
        for (index, variant) in errors.iter().enumerate() {
            if errors.iter().skip(index + 1).any(|other| other.code == variant.code) {
                let problem = format!("has the error {} a second time", variant.code);
                self.refuse(node, problem, "give one of them another code");
            }
        }
        (errors, shared)
    }
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty())
}

/// Returns the first pair of segments in which two paths differ, if one of the two segments is a
/// parameter. Dropshot cannot tell such paths apart.
fn find_conflict<'p>(path: &'p str, other: &'p str) -> Option<(&'p str, &'p str)> {
    let (segment, other_segment) = segments(path)
        .zip(segments(other))
        .find(|(segment, other_segment)| segment != other_segment)?;
    (segment.starts_with('{') || other_segment.starts_with('{')).then_some((segment, other_segment))
}
