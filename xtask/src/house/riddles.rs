//! Words that a stranger would have to learn, in names and in prose.

use super::rust::{Names, Parsed};
use super::sources::{CODE, Fault, Files, has_ending, is_test};
use regex::Regex;

/// Words that are no part of a name, and the words to use instead.
const NAMES: [(&str, &str); 32] = [
    ("alone", "the content of the file"),
    ("bell", "notify"),
    ("bells", "notify"),
    ("border", "ffi"),
    ("desk", "memory"),
    ("draft", "builder"),
    ("drafts", "builders"),
    ("flat", "raw"),
    ("formed", "foreign policy"),
    ("forms", "import or export"),
    ("frozen", "build"),
    ("given", "the noun that is meant"),
    ("held", "the noun that is meant"),
    ("kept", "the noun that is meant"),
    ("laid", "written"),
    ("lay", "write"),
    ("lays", "writes"),
    ("lent", "the noun that is meant"),
    ("meant", "effective"),
    ("own", "the noun that is meant"),
    ("plain", "the noun that is meant"),
    ("room", "buffer, storage or capacity"),
    ("rooms", "buffers"),
    ("said", "the noun that is meant"),
    ("scalar", "serde value"),
    ("soon", "next due"),
    ("stepped", "backoff"),
    ("stir", "notify"),
    ("stirs", "notify"),
    ("told", "the noun that is meant"),
    ("useless", "not for kind"),
    ("whole", "the noun that is meant"),
];
/// The same for a whole name.
const EXACT_NAMES: [(&str, &str); 2] = [("join", "add waiter"), ("place", "slot")];
/// Names in which these words are ordinary English.
const ORDINARY: [&str; 5] = ["given_up", "whole_millis", "whole_seconds", "whole_number", "no_room"];

/// Beginnings of sentences that leave out the noun; questions may begin so.
const BEGINNINGS: &str =
    r"(?:^|\. )(What|Whether|Who|Whoever|Whose|Those|That which|Of which|By whom|For whom)\b[^.?]*(\?)?";
/// Phrases that leave out the noun, and words of this house.
const PHRASES: &str = r"(?:(?:each|some|all|none|both|most|many|any|either|neither|(?:the )?(?:last|first|next|only)) (?:of which|one that))|\b(of which|of whom|by whom|one that|one who|ones that|those that|those who|that which|who fails|who shares|whoever|what (?:is|was) (?:given|said|told|meant|kept|held|lent)|desk|border|bell|lent|stirs?)\b";

/// Every riddle in the code that is no test, and in pages.
pub(super) fn riddles(files: &Files, parsed: &Parsed) -> Vec<Fault> {
    let (beginning, phrase) =
        (Regex::new(BEGINNINGS).expect("is valid"), Regex::new(&format!("(?i){PHRASES}")).expect("is valid"));
    let names = Definitions::new();
    let mut faults = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| !is_test(path)) {
        if has_ending(path, &CODE) {
            let file = path.rsplit('/').next().and_then(|name| name.split('.').next()).unwrap_or(path);
            for (line, name) in [(1, file.to_owned())].into_iter().chain(names.of(path, text, parsed)) {
                if let Some((word, instead)) = riddle(&name) {
                    faults.push(Fault::new(
                        path,
                        line,
                        format!("the name `{name}`: instead of `{word}` say {instead}"),
                    ));
                }
            }
        }
        for block in blocks(path, text) {
            let joined = block.iter().map(|(_, text)| &**text).collect::<Vec<_>>().join(" ");
            let mut end = 0;
            let ends: Vec<_> = block
                .iter()
                .map(|(line, text)| {
                    end += text.len() + 1;
                    (end, *line)
                })
                .collect();
            let line = |at: usize| ends.iter().find(|(end, _)| at < *end).map_or(0, |(_, line)| *line);
            let begins = beginning.captures_iter(&joined).filter(|found| found.get(2).is_none());
            for found in begins.chain(phrase.captures_iter(&joined)).filter_map(|found| found.get(1)) {
                let message = format!("`{}`: name the thing", found.as_str());
                faults.push(Fault::new(path, line(found.start()), message));
            }
        }
    }
    faults
}

/// The word of a name that has to be learned, and its successor.
fn riddle(name: &str) -> Option<(&'static str, &'static str)> {
    let pieces = pieces(name);
    let joined = pieces.join("_");
    let whole = EXACT_NAMES.iter().find(|(word, _)| joined == *word);
    let word = NAMES.iter().find(|(word, _)| pieces.iter().any(|piece| piece == word));
    whole.or(word).copied().filter(|_| !ORDINARY.iter().any(|ordinary| joined.contains(ordinary)))
}

/// The words of a name in snake or camel case.
fn pieces(name: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut before = '_';
    for letter in name.chars() {
        if letter.is_uppercase() && !before.is_uppercase() || !letter.is_alphanumeric() {
            pieces.push(String::new());
        }
        if letter.is_alphanumeric() {
            pieces.last_mut().expect("there is one").extend(letter.to_lowercase());
        }
        before = letter;
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// Finds the names that a file defines.
struct Definitions {
    script: Regex,
    python: Regex,
    c: Regex,
}

impl Definitions {
    fn new() -> Self {
        let script = r"\b(?:function\*?|class|interface|type|enum)\s+(\w+)|^(?:export )?(?:const|let)\s+(\w+)|^\s+(?:(?:readonly|static|private|declare|async|get|set) )*#?(\w+)\??(?:\([^;]*\{\s*$|[:=] )";
        let python = r"\b(?:def|class)\s+(\w+)|^(\w+)\s*(?::\s\w|=\s)|^\s+(\w+):\s\w|\bself\.(\w+)\s*(?::\s\w|=\s)";
        let [script, python, c] = [script, python, r"\b(holdoff_\w+)"].map(|text| Regex::new(text).expect("is valid"));
        Self { script, python, c }
    }

    fn of(&self, path: &str, text: &str, parsed: &Parsed) -> Vec<(usize, String)> {
        let regex = match path.rsplit('.').next() {
            Some("rs") => return parsed.get(path).map(Names::of).unwrap_or_default(),
            Some("py") => &self.python,
            Some("c" | "h" | "hpp") => &self.c,
            _ => &self.script,
        };
        let code = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with(['#', '*', '/']));
        let found = code.flat_map(|(number, line)| regex.captures_iter(line).map(move |found| (number + 1, found)));
        let names =
            found.filter_map(|(line, found)| Some((line, found.iter().skip(1).flatten().next()?.as_str().to_owned())));
        names.collect()
    }
}

/// The prose of a file: comments or paragraphs, each a list of lines with their numbers; examples are left out.
fn blocks(path: &str, text: &str) -> Vec<Vec<(usize, String)>> {
    let (page, python) = (path.ends_with(".md"), path.ends_with(".py"));
    let mut blocks: Vec<Vec<(usize, String)>> = Vec::new();
    let (mut inside, mut fenced, mut next) = (false, false, true);
    for (number, line) in text.lines().enumerate() {
        let bare = line.trim();
        let prose = if page {
            Some(bare)
        } else if python {
            let quotes = bare.matches("\"\"\"").count();
            let begins = !inside && bare.starts_with("\"\"\"");
            next |= begins;
            let prose = (inside || begins).then(|| bare.trim_matches('"'));
            inside = if inside { quotes == 0 } else { begins && quotes == 1 };
            prose.or_else(|| bare.strip_prefix('#').filter(|comment| comment.starts_with(' ')))
        } else {
            let begins = bare.starts_with("/*");
            next |= begins;
            let comment =
                (inside || begins || bare.starts_with("//")).then(|| bare.trim_start_matches(['/', '*', '!']));
            inside = (inside || begins) && !bare.contains("*/");
            comment.map(|comment| comment.trim_end_matches("*/"))
        };
        let prose = prose.map(str::trim).filter(|prose| !prose.is_empty());
        if prose.is_some_and(|prose| prose.starts_with("```")) {
            fenced = !fenced;
        }
        let Some(prose) = prose.filter(|prose| !fenced && !prose.starts_with("```")) else {
            next = true;
            continue;
        };
        let item = prose.trim_start_matches(['-', '*', ' ']);
        // A heading may ask; a row of a table stands for itself.
        let alone = page && (prose.starts_with('#') || prose.starts_with('|'));
        if next || alone || item.len() < prose.len() {
            blocks.push(Vec::new());
        }
        blocks
            .last_mut()
            .expect("the first line begins one")
            .push((number + 1, if alone { prose } else { item }.to_owned()));
        next = alone;
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::super::rust;
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let files = Files::from([(path.to_owned(), text.to_owned())]);
        riddles(&files, &rust::parse(&files)).iter().map(|fault| format!("{}: {}", fault.line, fault.message)).collect()
    }

    #[test]
    fn names_are_read_by_their_words() {
        let text = "extern_c! { fn told() {} }\npub struct FlatStep { pub kept: u8, flatter: u8 }\nfn whole_millis(room: u8) {}\n#[cfg(test)]\nmod own {}";
        let faults = [
            "1: the name `told`: instead of `told` say the noun that is meant",
            "2: the name `FlatStep`: instead of `flat` say raw",
            "2: the name `kept`: instead of `kept` say the noun that is meant",
        ];
        assert_eq!(found("core/src/a.rs", text), faults);
        assert_eq!(found("a/desk.ts", "  layPolicy(a: number) {\n    const b = a.join(desk);").len(), 2);
        assert_eq!(
            found("a/_b.py", "def take(own):\n    \"\"\"Text.\"\"\"\nclass Said:\n    lent: int = 1\n").len(),
            2
        );
    }

    #[test]
    fn prose_names_the_thing() {
        let text = "/// Whether it runs.\nfn a() {} // What a line.\n/// A list,\n/// one that ends. What is left stays.\n/// What is this?\n/// ```\n/// // What runs\n/// ```";
        let found_here = found("core/src/a.rs", &format!("{text}\nstruct S;"));
        assert_eq!(
            found_here,
            ["1: `Whether`: name the thing", "4: `What`: name the thing", "4: `one that`: name the thing"]
        );
        let page = "# What it is\n\n| What | of which |\n\n- Those run, each of which is the last one that ran.\n";
        assert_eq!(found("docs/a.md", page), ["3: `of which`: name the thing", "5: `Those`: name the thing"]);
        assert_eq!(found("a/b.py", "\"\"\"Who calls.\n\nWhat else.\n\"\"\"\n# Whose\n").len(), 3);
        assert_eq!(found("a/b.ts", "/**\n * Text.\n *\n * What else.\n */\n/** Those. */").len(), 2);
    }
}
