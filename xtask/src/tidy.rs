//! Removes what this project does not want from progenitor's code.

use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, File, ImplItem, Item, ItemImpl};

/// Removes the lint exceptions, the prelude and `Client::new`.
pub fn tidy(file: &mut File) {
    Tidy.visit_file_mut(file);
    file.items.retain(|item| !matches!(item, Item::Mod(module) if module.ident == "prelude"));
}

struct Tidy;

impl VisitMut for Tidy {
    /// The module's declaration lists all exceptions with a reason, as `expect`,
    /// which reports those no longer needed.
    fn visit_attributes_mut(&mut self, attributes: &mut Vec<Attribute>) {
        attributes.retain(|attribute| !attribute.path().is_ident("allow"));
    }

    /// `Client::new` panics where `Client::connect` returns an error, sends no
    /// key, and limits the total time of a list.
    fn visit_item_impl_mut(&mut self, block: &mut ItemImpl) {
        if block.trait_.is_none() {
            block.items.retain(|item| !is_function(item, "new"));
        }
        visit_mut::visit_item_impl_mut(self, block);
    }
}

fn is_function(item: &ImplItem, name: &str) -> bool {
    matches!(item, ImplItem::Fn(function) if function.sig.ident == name)
}
