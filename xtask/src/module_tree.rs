//! The modules of a crate, and for each its items, its `use` declarations and
//! the paths in its code.

use anyhow::Context;
use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::{Attribute, Item, ItemUse, UseTree, Visibility};

/// The name of a module after those of its parents, without the crate. Also any
/// other path, split at `::`.
pub type Segments = Vec<String>;

/// What a module contains.
#[derive(Debug, Default)]
pub struct Module {
    /// The file; an inline module has that of its parent.
    pub file: PathBuf,
    /// The names of the items that it defines, modules excepted.
    pub items: BTreeSet<String>,
    /// The names that `use` declares, and their paths.
    pub uses: BTreeMap<String, Segments>,
    /// The paths of `use PATH::*`.
    pub globs: Vec<Segments>,
    /// The paths that its own code depends on.
    pub references: Vec<Segments>,
    /// The paths of its re-exports, by name.
    reexports: BTreeMap<String, Segments>,
    /// The first names of the paths in its code.
    mentioned: BTreeSet<String>,
}

/// The modules of the crate with this root file, without its unit tests.
pub fn module_tree(root: &Path) -> anyhow::Result<BTreeMap<Segments, Module>> {
    let mut modules = BTreeMap::new();
    read_file(&mut modules, Vec::new(), root, root.parent().unwrap_or(root))?;
    Ok(modules)
}

fn read_file(
    modules: &mut BTreeMap<Segments, Module>,
    path: Segments,
    file: &Path,
    children: &Path,
) -> anyhow::Result<()> {
    let name = || file.display().to_string();
    let text = std::fs::read_to_string(file).with_context(name)?;
    read_items(modules, path, file, children, syn::parse_file(&text).with_context(name)?.items)
}

fn read_items(
    modules: &mut BTreeMap<Segments, Module>,
    path: Segments,
    file: &Path,
    children: &Path,
    items: Vec<Item>,
) -> anyhow::Result<()> {
    let mut module = Module { file: file.to_path_buf(), ..Module::default() };
    for item in items.into_iter().filter(|item| !is_test(item)) {
        let Item::Mod(child) = item else {
            module.read(item);
            continue;
        };
        let name = child.ident.to_string();
        let below = children.join(&name);
        let path = [path.as_slice(), &[name]].concat();
        match child.content {
            Some((_, items)) => read_items(modules, path, file, &below, items)?,
            None if below.join("mod.rs").exists() => {
                read_file(modules, path, &below.join("mod.rs"), &below)?;
            }
            None => read_file(modules, path, &below.with_extension("rs"), &below)?,
        }
    }
    // A module that only passes an item on does not depend on it.
    let used = |(name, path)| module.mentioned.contains(&name).then_some(path);
    module.references.extend(std::mem::take(&mut module.reexports).into_iter().filter_map(used));
    modules.insert(path, module);
    Ok(())
}

fn is_test(item: &Item) -> bool {
    let attributes: &[Attribute] = match item {
        Item::Mod(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        _ => &[],
    };
    let is_test = |attribute: &Attribute| {
        let list = attribute.meta.require_list().ok().filter(|list| list.path.is_ident("cfg"));
        list.is_some_and(|list| list.tokens.to_string() == "test")
    };
    attributes.iter().any(is_test)
}

impl Module {
    fn read(&mut self, item: Item) {
        let name = match &item {
            Item::Const(item) => Some(&item.ident),
            Item::Enum(item) => Some(&item.ident),
            Item::Fn(item) => Some(&item.sig.ident),
            Item::Macro(item) => item.ident.as_ref(),
            Item::Static(item) => Some(&item.ident),
            Item::Struct(item) => Some(&item.ident),
            Item::Trait(item) => Some(&item.ident),
            Item::Type(item) => Some(&item.ident),
            Item::Union(item) => Some(&item.ident),
            _ => None,
        };
        self.items.extend(name.map(ToString::to_string));
        match item {
            Item::Use(item) => self.read_use(&item),
            item => self.read_tokens(item.to_token_stream()),
        }
    }

    fn read_use(&mut self, item: &ItemUse) {
        let mut leaves = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut leaves);
        for (name, path) in leaves {
            match &item.vis {
                Visibility::Inherited => self.references.push(path.clone()),
                _ => drop(self.reexports.insert(name.clone(), path.clone())),
            }
            match path.split_last() {
                Some((last, glob)) if last == "*" => self.globs.push(glob.to_vec()),
                _ => drop(self.uses.insert(name, path)),
            }
        }
    }

    /// Reads tokens and not expressions, because paths occur inside macro calls.
    fn read_tokens(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        let mut path = Vec::new();
        let mut colons = 0;
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Ident(word) if word == "use" && !is_punct(tokens.peek(), '<') => {
                    let tree: TokenStream =
                        tokens.by_ref().take_while(|token| !is_punct(Some(token), ';')).collect();
                    // Anything else named `use` is no declaration.
                    let _ = syn::parse2(quote!(use #tree;)).map(|item| self.read_use(&item));
                }
                TokenTree::Ident(word) if colons == 2 && !path.is_empty() => {
                    path.push(word.to_string());
                }
                TokenTree::Ident(word) => {
                    self.end(&mut path);
                    // After `>::` or a leading `::` the path begins elsewhere.
                    path.extend((colons < 2).then(|| word.to_string()));
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                TokenTree::Group(group) => {
                    self.end(&mut path);
                    self.read_tokens(group.stream());
                }
                _ => self.end(&mut path),
            }
            colons = 0;
        }
        self.end(&mut path);
    }

    fn end(&mut self, path: &mut Segments) {
        self.mentioned.extend(path.first().cloned());
        if path.len() > 1 {
            self.references.push(path.clone());
        }
        path.clear();
    }
}

fn is_punct(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

/// The names that a `use` declares, with their paths. Of a glob both end in `*`.
fn flatten(tree: &UseTree, prefix: &mut Segments, leaves: &mut Vec<(String, Segments)>) {
    let mut leaf = |name: String, last: String| {
        let is_self = last == "self" && !prefix.is_empty();
        let last = (!is_self).then_some(last);
        let path: Segments = prefix.iter().cloned().chain(last).collect();
        let name = if name == "self" { path.last().cloned().unwrap_or_default() } else { name };
        leaves.push((name, path));
    };
    match tree {
        UseTree::Name(name) => leaf(name.ident.to_string(), name.ident.to_string()),
        UseTree::Rename(rename) => leaf(rename.rename.to_string(), rename.ident.to_string()),
        UseTree::Glob(_) => leaf("*".to_string(), "*".to_string()),
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            flatten(&path.tree, prefix, leaves);
            prefix.pop();
        }
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| flatten(tree, prefix, leaves));
        }
    }
}
