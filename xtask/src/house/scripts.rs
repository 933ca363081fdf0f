//! The imports of TypeScript, JavaScript and Python files among each other.

use super::sources::{Arrow, Files, beside, has_ending, is_test};
use regex::{Captures, Regex};

const SCRIPTS: [&str; 4] = ["ts", "mts", "mjs", "js"];

/// Every import of another file that is here; types and imports inside functions count.
pub(super) fn arrows(files: &Files) -> Vec<Arrow> {
    let script = Regex::new(r#"(?m)^[^\n]*?\b(?:from|import)\s*\(?\s*["'](\.[^"'\n]+)["']"#).expect("is valid");
    let python =
        Regex::new(r"(?m)^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]*)|import[ \t]+([^\n#]*))")
            .expect("is valid");
    let docstring = Regex::new(r#"(?s)""".*?""""#).expect("is valid");
    let mut arrows = Vec::new();
    for (from, text) in files.iter().filter(|(path, _)| !is_test(path)) {
        let mut add = |text: &str, at: usize, to: Option<String>| {
            let line = text[..at].matches('\n').count() + 1;
            arrows.extend(to.map(|to| Arrow { from: from.clone(), line, to }));
        };
        if has_ending(from, &SCRIPTS) {
            for found in script.captures_iter(text) {
                let begin = found[0].trim_start();
                if let Some(path) = found.get(1).filter(|_| !begin.starts_with("//") && !begin.starts_with('*')) {
                    add(text, path.start(), script_file(files, from, path.as_str()));
                }
            }
        } else if from.ends_with(".py") {
            // The lines of a docstring stay, so that numbers of lines do.
            let text = docstring.replace_all(text, |found: &Captures<'_>| "\n".repeat(found[0].matches('\n').count()));
            for found in python.captures_iter(&text) {
                let keyword = found[0].len() - found[0].trim_start().len() + found.get(0).map_or(0, |all| all.start());
                for to in python_files(files, from, &found) {
                    add(&text, keyword, Some(to));
                }
            }
        }
    }
    arrows
}

/// The file that a relative path in a script means.
fn script_file(files: &Files, from: &str, path: &str) -> Option<String> {
    let path = beside(from, path)?;
    let typescript = path.strip_suffix("js").map(|path| format!("{path}ts"));
    [Some(path), typescript].into_iter().flatten().find(|path| files.contains_key(path))
}

/// The files that an import statement in Python means: modules beside the file, in its package, or below a dotted name.
fn python_files(files: &Files, from: &str, found: &Captures<'_>) -> Vec<String> {
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let module = |name: &str| {
        let path = name.trim_end_matches('/');
        [format!("{path}.py"), format!("{path}/__init__.py")].into_iter().find(|path| files.contains_key(path))
    };
    // The folder in which the outermost package of the file lies.
    let mut outside = folder;
    while files.contains_key(&format!("{outside}/__init__.py")) {
        outside = outside.rsplit_once('/').map_or("", |(parent, _)| parent);
    }
    let absolute = |name: &str| format!("{outside}/{}", name.replace('.', "/")).trim_start_matches('/').to_owned();
    let Some(source) = found.get(1).map(|source| source.as_str()) else {
        let names = found[3].split(',').filter_map(|name| name.split_whitespace().next());
        return names.filter_map(|name| module(&absolute(name))).collect();
    };
    let name = source.trim_start_matches('.');
    let base = match source.len() - name.len() {
        0 => absolute(name),
        dots => {
            let mut parent = folder;
            for _ in 1..dots {
                parent = parent.rsplit_once('/').map_or("", |(parent, _)| parent);
            }
            format!("{parent}/{}", name.replace('.', "/"))
        }
    };
    let names =
        found[2].split(',').filter_map(|name| name.trim_matches(['(', ')', ' ', '\n']).split_whitespace().next());
    let mut all = false;
    let mut to: Vec<_> = names
        .filter_map(|name| {
            let file = module(&format!("{}/{name}", base.trim_end_matches('/')));
            all |= file.is_none();
            file
        })
        .collect();
    if all {
        to.extend(module(&base));
    }
    to
}
