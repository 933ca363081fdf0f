//! The imports of Rust files among each other, resolved through re-exports to the file that defines a name.

use super::sources::{Arrow, Files, beside, is_test};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, HashMap, HashSet};
use syn::visit::{self, Visit};
use syn::{Attribute, Ident, ImplItem, Item, ItemMod, ItemUse, Macro, Meta, UseTree, Visibility};

/// The items of each Rust file by its path.
pub(super) type Parsed = BTreeMap<String, syn::File>;

/// Parses every Rust file; a file that does not parse is left to the compiler.
pub(super) fn parse(files: &Files) -> Parsed {
    let rust = files.iter().filter(|(path, _)| path.ends_with(".rs") && !is_test(path));
    rust.filter_map(|(path, text)| Some((path.clone(), syn::parse_file(text).ok()?))).collect()
}

/// The most names of a path.
const LONGEST_PATH: usize = 12;

/// Names that were looked up already, by the numbers of the modules.
type Seen = HashSet<(usize, Vec<String>)>;

/// A path that a module mentions, and its line.
type Mention = (Vec<String>, usize);

/// A module of a crate.
#[derive(Default)]
struct Module {
    file: String,
    parent: usize,
    children: HashMap<String, usize>,
    /// The names that it defines.
    items: HashSet<String>,
    /// The names that it imports, with their paths.
    imports: HashMap<String, Vec<String>>,
    /// Modules whose names are all imported.
    globs: Vec<Vec<String>>,
    mentions: Vec<Mention>,
}

/// Every mention of a name that another file of the same crate defines, for all crates; tests are left out.
pub(super) fn arrows(files: &Parsed) -> Vec<Arrow> {
    let root = |path: &str| path.ends_with("src/lib.rs") || path.ends_with("src/main.rs") || path.contains("src/bin/");
    let mut arrows = Vec::new();
    for path in files.keys().filter(|path| root(path)) {
        let mut tree = Tree { files, modules: Vec::new(), definers: HashMap::new() };
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        tree.read(path, folder, 0);
        tree.arrows(&mut arrows);
    }
    arrows
}

/// The modules of one crate; the first is its root.
struct Tree<'a> {
    files: &'a Parsed,
    modules: Vec<Module>,
    /// The files that define a name.
    definers: HashMap<String, Vec<String>>,
}

impl Tree<'_> {
    /// Reads a file whose modules lie in `folder`.
    fn read(&mut self, file: &str, folder: &str, parent: usize) -> usize {
        let items = self.files.get(file).map_or(&[][..], |parsed| &parsed.items);
        self.module(file, folder, parent, items)
    }

    fn module(&mut self, file: &str, folder: &str, parent: usize, items: &[Item]) -> usize {
        let number = self.modules.len();
        self.modules.push(Module { file: file.to_owned(), parent, ..Module::default() });
        let mut reader = Reader::default();
        for item in items.iter().filter(|item| !attributes(item).iter().any(test_only)) {
            if let Item::Mod(module) = item {
                self.child(number, folder, module);
            } else {
                reader.module.items.extend(name(item).map(ToString::to_string));
                reader.visit_item(item);
            }
        }
        let Module { items, imports, globs, mentions, .. } = reader.module;
        for name in &items {
            self.definers.entry(name.clone()).or_default().push(file.to_owned());
        }
        let module = &mut self.modules[number];
        (module.items, module.imports, module.globs, module.mentions) = (items, imports, globs, mentions);
        number
    }

    fn child(&mut self, parent: usize, folder: &str, module: &ItemMod) {
        let name = module.ident.to_string();
        let inside = format!("{folder}/{name}");
        let file = self.modules[parent].file.clone();
        let child = if let Some((_, items)) = &module.content {
            self.module(&file, &inside, parent, items)
        } else {
            let named = module.attrs.iter().find_map(|attribute| match &attribute.meta {
                Meta::NameValue(pair) if pair.path.is_ident("path") => Some(&pair.value),
                _ => None,
            });
            let named = named.and_then(|value| match value {
                syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) => Some(path.value()),
                _ => None,
            });
            let candidates = [
                named.and_then(|path| beside(&file, &path)),
                Some(format!("{inside}.rs")),
                Some(format!("{inside}/mod.rs")),
            ];
            let Some(file) = candidates.into_iter().flatten().find(|path| self.files.contains_key(path)) else {
                return;
            };
            self.read(&file, &inside, parent)
        };
        self.modules[parent].children.insert(name, child);
    }

    fn arrows(&self, arrows: &mut Vec<Arrow>) {
        for (number, module) in self.modules.iter().enumerate() {
            // A name alone is another file's only where all names of a module are imported.
            let known = |name| module.children.contains_key(name) || module.imports.contains_key(name);
            let is_imported = |name| self.definers.contains_key(name) && !module.globs.is_empty() && !known(name);
            for (path, line) in module.mentions.iter().filter(|(path, _)| path.len() > 1 || is_imported(&path[0])) {
                if let Some(to) = self.resolve(number, path, &mut HashSet::new()).filter(|to| *to != module.file) {
                    arrows.push(Arrow { from: module.file.clone(), line: *line, to: to.to_owned() });
                }
            }
        }
    }

    /// The file that defines what `path` means in a module; nothing for a name of another crate.
    fn resolve(&self, from: usize, path: &[String], seen: &mut Seen) -> Option<&str> {
        let mut number = from;
        let mut names = path;
        while let Some((first, rest)) = names.split_first() {
            match &**first {
                "crate" => number = 0,
                "self" => {}
                "super" => number = self.modules[number].parent,
                _ => break,
            }
            names = rest;
        }
        let relative = names.len() == path.len();
        self.below(number, names, seen).unwrap_or_else(|| (!relative).then_some(&*self.modules[number].file))
    }

    /// The file that defines what `names` mean below a module: `None` for an unknown name, `Some(None)` for one of another crate.
    fn below(&self, number: usize, names: &[String], seen: &mut Seen) -> Option<Option<&str>> {
        let module = &self.modules[number];
        let Some((name, rest)) = names.split_first() else { return Some(Some(&module.file)) };
        let child = module.children.get(name);
        if let Some(child) = child.filter(|_| !rest.is_empty() || !module.items.contains(name)) {
            let found = self.below(*child, rest, seen);
            return Some(found.unwrap_or_else(|| Some(&self.modules[*child].file)));
        }
        if module.items.contains(name) {
            return Some(Some(&module.file));
        }
        // Modules that import all names of each other lead back here; an import of another crate's `a::a` leads to itself.
        if names.len() > LONGEST_PATH || !seen.insert((number, names.to_vec())) {
            return None;
        }
        if let Some(path) = module.imports.get(name) {
            let path: Vec<_> = path.iter().chain(rest).cloned().collect();
            return Some(self.resolve(number, &path, seen));
        }
        // Only for names of this crate: there are many others.
        let globs = self.definers.contains_key(name).then_some(&module.globs);
        globs.into_iter().flatten().find_map(|glob| {
            let path: Vec<_> = glob.iter().chain(names).cloned().collect();
            let file = self.resolve(number, &path, seen)?;
            self.definers.get(name)?.iter().any(|definer| definer == file).then_some(Some(file))
        })
    }
}

/// Collects what one module mentions.
#[derive(Default)]
struct Reader {
    module: Module,
    /// Names alone that were mentioned already.
    single: HashSet<String>,
}

impl Reader {
    fn mention<'a>(&mut self, names: impl Iterator<Item = &'a Ident>) {
        let names: Vec<_> = names.collect();
        let Some(first) = names.first() else { return };
        let path: Vec<_> = names.iter().map(ToString::to_string).collect();
        if names.len() > 1 || !matches!(&*path[0], "crate" | "super" | "self") && self.single.insert(path[0].clone()) {
            self.module.mentions.push((path, first.span().start().line));
        }
    }

    fn import(&mut self, tree: &UseTree, path: &[String], line: usize) {
        let longer = |ident: &Ident| path.iter().cloned().chain([ident.to_string()]).collect::<Vec<_>>();
        let (name, path) = match tree {
            UseTree::Path(below) => {
                return self.import(&below.tree, &longer(&below.ident), below.ident.span().start().line);
            }
            UseTree::Group(group) => return group.items.iter().for_each(|tree| self.import(tree, path, line)),
            // The names that are used say which files are needed.
            UseTree::Glob(_) => return self.module.globs.push(path.to_vec()),
            UseTree::Name(name) if name.ident == "self" => (path.last().cloned().unwrap_or_default(), path.to_vec()),
            UseTree::Name(name) => (name.ident.to_string(), longer(&name.ident)),
            UseTree::Rename(name) if name.ident == "self" => (name.rename.to_string(), path.to_vec()),
            UseTree::Rename(name) => (name.rename.to_string(), longer(&name.ident)),
        };
        let line = match tree {
            UseTree::Name(name) => name.ident.span().start().line,
            UseTree::Rename(name) => name.ident.span().start().line,
            _ => line,
        };
        self.module.imports.insert(name, path.clone());
        self.module.mentions.push((path, line));
    }

    /// Mentions of names in what a macro takes.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut names: Vec<Ident> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.mention(std::mem::take(&mut names).iter());
                    }
                    names.push(ident);
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                other => {
                    self.mention(std::mem::take(&mut names).iter());
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.mention(names.iter());
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        if !attributes(item).iter().any(test_only) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if !matches!(item, ImplItem::Fn(function) if function.attrs.iter().any(test_only)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.import(&item.tree, &[], item.use_token.span.start().line);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.mention(path.segments.iter().map(|segment| &segment.ident));
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invoked: &'ast Macro) {
        self.mention(invoked.path.segments.iter().map(|segment| &segment.ident));
        self.tokens(invoked.tokens.clone());
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}

/// Says whether an attribute leaves an item to tests.
fn test_only(attribute: &Attribute) -> bool {
    match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string();
            condition == "test"
                || condition.starts_with("all") && condition.contains("test") && !condition.contains("not")
        }
        _ => false,
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The name that an item defines; an assertion is a constant without one.
fn name(item: &Item) -> Option<&Ident> {
    Some(match item {
        Item::Const(item) if item.ident == "_" => return None,
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    })
}
