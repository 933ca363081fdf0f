//! Which floor may import which, and that no files import each other in a circle.

use super::sources::{Arrow, Fault, Files, is_test};
use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};

/// The floors of core, each with the floors that it may import beside itself. Files directly in core/src are the ground.
const FLOORS: [(&str, &[&str]); 5] = [
    ("ground", &[]),
    ("decide", &["ground"]),
    ("describe", &["ground", "decide"]),
    ("record", &["ground", "decide", "describe"]),
    ("pace", &["ground", "decide"]),
];

/// Where the floors are; the root of the crate stands on all of them.
const CORE: &str = "core/src/";
/// Packages over the public faces of the library.
const ENGINES: &str = "engines/";
/// The package of the library for JavaScript.
const PACKAGE: &str = "bindings-wasm/package.json";

/// Imports of core that go to a floor not below, and imports of engines that no user could write.
pub(super) fn upward(files: &Files, arrows: &[Arrow]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for Arrow { from, line, to } in arrows {
        let (Some(above), Some(below)) = (floor(from), floor(to)) else { continue };
        let allowed = FLOORS.iter().find(|(name, _)| *name == above).map_or(&[][..], |(_, allowed)| allowed);
        if above != below && !allowed.contains(&below) {
            faults.push(Fault::new(from, *line, format!("{above} imports {to}, which is on the floor {below}")));
        }
    }
    faults.extend(private(files));
    faults.sort();
    faults.dedup();
    faults
}

/// The floor of a file of core.
fn floor(path: &str) -> Option<&str> {
    let path = path.strip_prefix(CORE)?;
    match path.split_once('/') {
        Some((folder, _)) => Some(folder),
        None => match path.strip_suffix(".rs")? {
            "lib" => None,
            name if FLOORS.iter().any(|(floor, _)| *floor == name) => Some(name),
            _ => Some("ground"),
        },
    }
}

/// Imports of engines that are not public: private Python modules, and paths that the npm package does not export.
fn private(files: &Files) -> Vec<Fault> {
    let python =
        Regex::new(r"^\s*(?:from|import)\s+(holdoff(?:\.\w+)*\._\w+|holdoff\s+import\s.*\b_\w+)").expect("is valid");
    let script = Regex::new(r#"(?:from|import)\s*\(?\s*["'](holdoff(?:/[^"']*)?|(?:\.\./)+bindings[^"']*)["']"#)
        .expect("is valid");
    let package = files.get(PACKAGE).and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
    let exported = |name: &str| {
        let entry = name.replacen("holdoff", ".", 1);
        package.as_ref().is_none_or(|package| package["exports"].get(entry).is_some())
    };
    let mut faults = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| path.starts_with(ENGINES) && !is_test(path)) {
        for (number, line) in text.lines().enumerate() {
            let name = if path.ends_with(".py") {
                python.captures(line).map(|found| found[1].to_owned())
            } else {
                script.captures(line).map(|found| found[1].to_owned()).filter(|name| !exported(name))
            };
            if let Some(name) = name {
                faults.push(Fault::new(path, number + 1, format!("{name} is not public")));
            }
        }
    }
    faults
}

/// Every import between files that import each other in a circle, the first line of each.
pub(super) fn circles(arrows: &[Arrow]) -> Vec<Fault> {
    let mut graph = DiGraph::<&str, ()>::new();
    let mut nodes = BTreeMap::new();
    for Arrow { from, to, .. } in arrows.iter().filter(|arrow| arrow.from != arrow.to) {
        let [from, to] = [from, to].map(|path| *nodes.entry(&**path).or_insert_with(|| graph.add_node(path)));
        graph.update_edge(from, to, ());
    }
    let mut faults = BTreeMap::new();
    for circle in tarjan_scc(&graph).into_iter().filter(|circle| circle.len() > 1) {
        let files: BTreeSet<_> = circle.into_iter().map(|node| graph[node]).collect();
        for Arrow { from, line, to } in arrows {
            if from != to && files.contains(&**from) && files.contains(&**to) {
                let count = files.len();
                let message = format!("imports {to}, which leads back here: a circle of {count} files");
                let first = faults.entry((from, to)).or_insert_with(|| Fault::new(from, *line, message));
                first.line = first.line.min(*line);
            }
        }
    }
    faults.into_values().collect()
}

/// The longest chain of files of a folder that import each other, each named by its path there. Types count. Circles are faults of
/// their own, and end a chain.
pub(super) fn longest_chain(arrows: &[Arrow], folder: &str) -> Vec<String> {
    let mut imports = BTreeMap::<_, BTreeSet<_>>::new();
    for Arrow { from, to, .. } in arrows {
        if let (Some(from), Some(to)) = (from.strip_prefix(folder), to.strip_prefix(folder)) {
            imports.entry(from).or_default().insert(to);
        }
    }
    let mut chains = BTreeMap::new();
    for from in imports.keys() {
        chain_from(from, &imports, &mut chains);
    }
    let longest = chains.into_values().max_by_key(Vec::len).unwrap_or_default();
    longest.into_iter().map(str::to_owned).collect()
}

fn chain_from<'a>(
    from: &'a str,
    imports: &BTreeMap<&'a str, BTreeSet<&'a str>>,
    chains: &mut BTreeMap<&'a str, Vec<&'a str>>,
) -> Vec<&'a str> {
    if let Some(chain) = chains.get(from) {
        return chain.clone();
    }
    // A file that is reached again while it is looked at.
    chains.insert(from, vec![from]);
    let behind = imports.get(from).into_iter().flatten().map(|to| chain_from(to, imports, chains));
    let longest = behind.max_by_key(Vec::len).unwrap_or_default();
    let chain: Vec<_> = std::iter::once(from).chain(longest).collect();
    chains.insert(from, chain.clone());
    chain
}

#[cfg(test)]
mod tests {
    use super::super::{rust, scripts};
    use super::*;

    fn tree(files: &[(&str, &str)]) -> (Files, Vec<Arrow>) {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let mut arrows = rust::arrows(&rust::parse(&files));
        arrows.extend(scripts::arrows(&files));
        (files, arrows)
    }

    fn shown(faults: &[Fault]) -> Vec<String> {
        faults.iter().map(|fault| format!("{}:{}", fault.path, fault.line)).collect()
    }

    #[test]
    fn an_import_that_goes_up_is_named_by_its_line() {
        let (files, arrows) = tree(&[
            ("core/src/lib.rs", "mod decide;\nmod record;\nmod time;\npub use decide::call::Call;"),
            ("core/src/decide.rs", "pub(crate) mod call;"),
            (
                "core/src/decide/call.rs",
                "use crate::time::Span;\npub struct Call;\nfn f() {\n    crate::record::write();\n}",
            ),
            ("core/src/record.rs", "use crate::Call;\npub(crate) fn write() {}"),
            ("core/src/time.rs", "pub struct Span;\n#[cfg(test)]\nmod tests {\n    use crate::Call;\n}"),
        ]);
        assert_eq!(shown(&upward(&files, &arrows)), ["core/src/decide/call.rs:4"]);
    }

    #[test]
    fn engines_import_only_public_faces() {
        let (files, arrows) = tree(&[
            ("bindings-wasm/package.json", r#"{"exports": {".": {}, "./guards": {}}}"#),
            ("engines/a/python/a/__init__.py", "from holdoff import Policy\nfrom holdoff._engine import Job\n"),
            (
                "engines/b/src/index.ts",
                "import { a } from \"holdoff\";\nimport b from 'holdoff/guards';\nimport 'holdoff/src/a';",
            ),
            ("engines/b/src/far.ts", "import {\n  a,\n} from \"../../../bindings-wasm/src-ts/index.ts\";"),
        ]);
        let faults = ["engines/a/python/a/__init__.py:2", "engines/b/src/far.ts:3", "engines/b/src/index.ts:3"];
        assert_eq!(shown(&upward(&files, &arrows)), faults);
    }

    #[test]
    fn circles_are_found_in_rust() {
        let (_, arrows) = tree(&[
            ("a/src/lib.rs", "mod x;\nmod y;\npub use y::Y;"),
            ("a/src/x.rs", "mod inner;\npub(crate) use inner::Inner;\nuse crate::Y;"),
            ("a/src/x/inner.rs", "pub(crate) struct Inner;\nuse super::Local;"),
            ("a/src/y.rs", "pub struct Y;\nmacro_rules! m { () => { $crate::x::f() } }"),
        ]);
        assert_eq!(shown(&circles(&arrows)), ["a/src/x.rs:2", "a/src/x.rs:3", "a/src/x/inner.rs:2", "a/src/y.rs:2"]);
        let (_, arrows) = tree(&[
            ("a/src/lib.rs", "mod x;\npub use x::{Inner, Other};"),
            ("a/src/x.rs", "mod inner;\nmod other;\npub use inner::*;\npub use other::Other;"),
            ("a/src/x/inner.rs", "pub struct Inner;\nuse super::Other;"),
            ("a/src/x/other.rs", "pub struct Other;\n#[cfg(test)]\nuse super::Inner;"),
        ]);
        assert_eq!(circles(&arrows), [], "the parent only re-exports");
        let (_, arrows) = tree(&[
            ("a/src/lib.rs", "mod x;\nmod y;\nuse x::*;\nuse y::*;\nuse time::time;"),
            ("a/src/x.rs", "use crate::*;\npub struct X;\nfn f() {\n    Unknown::a();\n    time::now();\n    y();\n}"),
            ("a/src/y.rs", "use super::*;\nuse crate::x::*;\nuse crate::Unknown;\npub fn y() {}\nfn g(_: X) {}"),
        ]);
        let faults = ["a/src/x.rs:6", "a/src/y.rs:5"];
        assert_eq!(shown(&circles(&arrows)), faults, "globs stand for the names that are used");
    }

    #[test]
    fn circles_are_found_in_typescript_and_python() {
        let (_, arrows) = tree(&[
            ("w/src/a.ts", "import type {\n  B,\n} from \"./b.js\";\n// import \"./c.ts\""),
            ("w/src/b.ts", "export { c } from './c/index.ts';"),
            ("w/src/c/index.ts", "const a = await import(\"../a.ts\");"),
            ("w/src/d.test.ts", "import \"./a.ts\";"),
            ("p/__init__.py", "\"\"\"Text.\n\n    from p import _b\n\"\"\"\nfrom ._a import f\n"),
            ("p/_a.py", "def f():\n    from . import (\n        _b,\n    )\n"),
            ("p/_b.py", "if TYPE_CHECKING:\n    from p._a import f\nimport json\n"),
        ]);
        let faults = ["p/_a.py:2", "p/_b.py:2", "w/src/a.ts:3", "w/src/b.ts:1", "w/src/c/index.ts:1"];
        assert_eq!(shown(&circles(&arrows)), faults);
    }

    #[test]
    fn the_longest_chain_of_imports_is_named() {
        let (_, arrows) = tree(&[
            ("p/__init__.py", "from ._a import f\nfrom ._b import g\n"),
            ("p/_a.py", "from ._b import g\n"),
            ("p/_b.py", "import json\n"),
        ]);
        assert_eq!(longest_chain(&arrows, "p/"), ["__init__.py", "_a.py", "_b.py"]);
    }
}
