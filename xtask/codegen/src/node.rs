//! A value of a document, with its JSON pointer.

use crate::pointer::{self, pointer_to};
use serde_json::Value;

#[derive(Clone, Debug)]
pub struct Node<'a> {
    pub pointer: String,
    pub value: &'a Value,
}

impl<'a> Node<'a> {
    pub fn root(value: &'a Value) -> Node<'a> {
        Node { pointer: String::new(), value }
    }

    pub fn get(&self, key: &str) -> Option<Node<'a>> {
        Some(Node { pointer: pointer_to(&self.pointer, key), value: self.value.get(key)? })
    }

    pub fn get_path(&self, path: &[&str]) -> Option<Node<'a>> {
        path.iter().try_fold(self.clone(), |node, key| node.get(key))
    }

    pub fn members(&self) -> impl Iterator<Item = (&'a str, Node<'a>)> + use<'a> {
        let pointer = self.pointer.clone();
        self.value.as_object().into_iter().flatten().map(move |(key, value)| {
            (key.as_str(), Node { pointer: pointer_to(&pointer, key), value })
        })
    }

    pub fn elements(&self) -> impl Iterator<Item = Node<'a>> + use<'a> {
        let pointer = self.pointer.clone();
        self.value
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
            .map(move |(index, value)| Node { pointer: format!("{pointer}/{index}"), value })
    }

    /// Returns the target of a reference. `self` must be the root node.
    pub fn target(&self, reference: &str) -> Option<Node<'a>> {
        let pointer = reference.strip_prefix('#')?.to_string();
        Some(Node { pointer, value: pointer::target(self.value, reference)? })
    }

    pub fn text(&self, key: &str) -> Option<&'a str> {
        self.value.get(key)?.as_str()
    }

    pub fn is_true(&self, key: &str) -> bool {
        self.value.get(key).is_some_and(|value| *value == true)
    }
}
