//! The policies of a text, as the systems that it is written for mean them.

use crate::block::Block;
use crate::detect::{blocks, blocks_of};
use crate::finding::{Finding, Severity};
use crate::formats::fields::{Mistake, Translated};
use crate::formats::translated;
use crate::names::{own_names, parts};
use crate::placeholder;
use crate::spans::line_and_column;
use crate::syntax::broken::Broken;
use crate::syntax::json::json;
use crate::syntax::yaml::yaml;
use crate::syntax::{haproxy, hcl, nginx, properties, sections};
use crate::system::{CONFIGURATIONS, System};
use crate::tree::{Data, Field, Node};
use holdoff_core::{Document, DocumentError, ErrorCode, Form};
use std::collections::HashMap;
use std::convert::Infallible;
use std::ops::Range;
use std::rc::Rc;

/// The policies of a text, its mistakes, and what was passed over.
#[derive(Default)]
pub(crate) struct Reading {
    /// The policies that are valid, in the order of the text.
    pub(crate) policies: Vec<Named>,
    /// The mistakes of the text and of its policies.
    pub(crate) wrong: Vec<Finding>,
    /// Remarks about parts that no policy was read of, and about values that only a running system knows.
    pub(crate) notes: Vec<Note>,
    /// The trees of the text; none where nothing was looked for.
    pub(crate) documents: Vec<Rc<Node>>,
}

impl Reading {
    /// True if there is nothing to say about the text.
    pub(crate) fn is_empty(&self) -> bool {
        self.policies.is_empty() && self.wrong.is_empty() && self.notes.is_empty()
    }
}

/// A remark about a text that is no mistake.
#[derive(Debug)]
pub(crate) struct Note {
    pub(crate) kind: NoteKind,
    pub(crate) message: String,
}

/// The subject of a remark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoteKind {
    /// A template, whose policies are known when it is rendered: none was read.
    Template,
    /// A value that only a running system knows: no policy was read.
    Unknown,
    /// Retries of which a file says too little: no policy was read.
    Unsaid,
    /// A default that counts unless somebody gives another value.
    Default,
    /// A part of the retries that the policy leaves out.
    LeftOut,
}

/// One policy of a text.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    /// The system that the policy is written for; `None` for a policy document of holdoff.
    pub(crate) system: Option<System>,
    /// The place of the policy in names of its file: `payments.Charge`, `http[2]`, `retries.important`. Empty for a file that
    /// is the policy.
    pub(crate) name: String,
    pub(crate) document: Document,
    /// The object that was read.
    node: Rc<Node>,
    /// The path of the policy inside of that object.
    inside: String,
}

impl Named {
    /// The bytes of a field of the policy, by its path in the file's own names (`retries.attempts`) or in those of a policy
    /// document (`attempts`). Of a field with a name the bytes of the name. `None` if the policy does not have the field.
    pub(crate) fn place(&self, path: &str) -> Option<Range<usize>> {
        let here = |path: &str| {
            let path = if self.inside.is_empty() { path.to_owned() } else { format!("{}.{path}", self.inside) };
            let place = self.node.place(&path).filter(|place| place.is_whole)?;
            Some(place.name.unwrap_or(place.value))
        };
        match self.system {
            None => self.node.place(path).map(|place| place.name.unwrap_or(place.value)),
            Some(system) => here(path).or_else(|| own_names(system, path).iter().find_map(|path| here(path))),
        }
    }

    /// The object of the policy.
    pub(crate) fn object(&self) -> Option<&Node> {
        self.node.value(&self.inside)
    }

    /// The object that was read, which may hold other policies, too.
    pub(crate) const fn around(&self) -> &Rc<Node> {
        &self.node
    }

    /// The bytes of the policy as a whole.
    pub(crate) fn whole(&self) -> Range<usize> {
        self.node.place(&self.inside).map_or(self.node.span.clone(), |place| place.name.unwrap_or(place.value))
    }
}

/// Reads all policies of a text. `system: None` finds them by their shape, policy documents of holdoff among them. A text
/// without retries has no policies; a template that is no YAML gives a note.
pub(crate) fn read(name: &str, text: &str, system: Option<System>) -> Reading {
    const PARTS: [&str; 10] = [
        "etry",
        "etri",
        "ttempt",
        "acko",
        "next_upstream",
        "maxReceiveCount",
        "redispatch",
        "VirtualService",
        "EventAge",
        "event_age",
    ];
    if system.is_none() && !PARTS.iter().any(|part| text.contains(part)) {
        return Reading::default();
    }
    read_with(name, text, system, Ok::<_, Infallible>).unwrap_or_else(|never| match never {})
}

/// Reads the one policy of a text that a person means: by its name, its index, or because there is no other.
///
/// # Errors
/// The policies that there are, unless one is meant.
pub(crate) fn read_one(name: &str, text: &str, system: Option<System>, entry: Option<&str>) -> Result<Reading, String> {
    read_with(name, text, system, |mut blocks| {
        let names = blocks.iter().map(|block| block.name.as_str()).collect::<Vec<_>>().join(", ");
        match entry {
            Some(entry) => {
                blocks.retain(|block| is_meant(block, entry));
                match blocks.len() {
                    0 if names.is_empty() => {
                        return Err(format!("has no entry {entry}: the file is one policy, or has none"));
                    }
                    0 => return Err(format!("has no entry {entry}; there is {names}")),
                    1 => {}
                    _ => {
                        return Err(format!(
                            "has several entries {entry}: say which is meant by its name; there is {names}"
                        ));
                    }
                }
            }
            None if blocks.len() > 1 => {
                // Configurations are there for the instances.
                blocks.retain(|block| !block.name.starts_with("configs."));
                if blocks.len() != 1 {
                    return Err(format!("has several policies: say which is meant with --entry; there is {names}"));
                }
            }
            None => {}
        }
        Ok(blocks)
    })
}

/// True if a person means this policy: by the index, by the name, or by the end of the name.
fn is_meant(block: &Block, entry: &str) -> bool {
    let is_number = entry.parse().is_ok_and(|number: u32| block.entry == Some(number));
    is_number || block.name == entry || block.name.strip_suffix(entry).is_some_and(|before| before.ends_with('.'))
}

fn read_with<E>(
    name: &str,
    text: &str,
    system: Option<System>,
    choose: impl FnOnce(Vec<Block>) -> Result<Vec<Block>, E>,
) -> Result<Reading, E> {
    let mut reading = Reading::default();
    let Trees { documents, only } = match trees(name, text, system) {
        Ok(trees) => trees,
        Err((false, _))
            if system.is_none()
                && let Some(document) = with_comments(text) =>
        {
            Trees { documents: vec![document], only: None }
        }
        Err((_, broken)) if is_template(text, &broken) => {
            reading.notes.push(template(&broken.words));
            return Ok(reading);
        }
        Err((is_yaml, broken)) => {
            reading.wrong.push(of_broken(is_yaml, broken, name, text));
            return Ok(reading);
        }
    };
    let mut found: Vec<_> = match only {
        Some(Only::System(own)) => documents.iter().flat_map(|document| blocks_of(own, document)).collect(),
        _ => documents.iter().flat_map(|document| blocks(document, system)).collect(),
    };
    if let Some(Only::Templates) = only {
        reading.notes.push(template("a heredoc takes values from outside"));
    }
    if let ([document], None, None, true) = (&*documents, system, &only, found.is_empty())
        && let Ok(policy) = Document::read(&**document)
        && ["attempts", "backoff", "preset"].iter().any(|field| document.get(field).is_some())
    {
        reading.policies.push(own(document, policy));
        return Ok(reading);
    }
    // Two resources may have the same names inside: then their own name comes first.
    let mut names = HashMap::<_, u32>::new();
    found.iter().for_each(|block| *names.entry(block.name.clone()).or_default() += 1);
    for block in &mut found {
        if let Some(resource) = block.resource.take()
            && names.get(&block.name).is_some_and(|count| *count > 1)
        {
            block.name = joined(&resource, &block.name);
        }
    }
    for block in choose(found)? {
        read_block(block, name, text, &mut reading);
    }
    reading.documents = documents;
    Ok(reading)
}

/// JSON with comments, unless it has policies of a system that takes none.
fn with_comments(text: &str) -> Option<Rc<Node>> {
    let document = json(text, true).ok()?;
    blocks(&document, None).iter().all(|block| block.system == System::Core(Form::Polly)).then_some(document)
}

/// True if a text that is not of its format is a template.
fn is_template(text: &str, broken: &Broken) -> bool {
    let line = || {
        let start = text.get(..broken.at).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
        text.get(start..).unwrap_or_default().lines().next().unwrap_or_default()
    };
    ["{{", "{%", "<%"].iter().any(|mark| text.contains(mark)) || line().contains("${")
}

fn template(words: &str) -> Note {
    let message = format!("is a template, whose policies are known when it is rendered: {words}");
    Note { kind: NoteKind::Template, message }
}

/// Reads a text as a policy document of holdoff.
pub(crate) fn read_policy(name: &str, text: &str) -> Reading {
    let mut reading = Reading::default();
    match trees(name, text, None) {
        Err((is_yaml, broken)) => reading.wrong.push(of_broken(is_yaml, broken, name, text)),
        Ok(Trees { documents, .. }) => match documents.first() {
            Some(document) => match Document::read(&**document) {
                Ok(policy) => reading.policies.push(own(document, policy)),
                Err(wrong) => {
                    let mistakes = mistakes(wrong, document, |node| Document::read(node));
                    reading.wrong = mistakes.into_iter().map(|wrong| finding(wrong, document, name, text)).collect();
                }
            },
            None => {
                let broken = Broken { words: String::new(), at: 0 };
                reading.wrong.push(of_broken(false, broken, name, text));
            }
        },
    }
    reading
}

/// True for a file of something else: it has objects or lists, its names are none of a policy document, and few of them are near one.
pub(crate) fn is_of_something_else(name: &str, text: &str) -> bool {
    let Ok(Trees { documents, .. }) = trees(name, text, None) else { return false };
    let Some(document) = documents.first() else { return true };
    let fields = document.fields();
    let is_deep = |field: &Field| matches!(field.value.data, Data::Object(_) | Data::List(_));
    let near = |field: &Field| {
        let alone = Node { span: 0..0, data: Data::Object(vec![field.clone()]) };
        let error = Document::read(&alone).err()?.error;
        (error.code == ErrorCode::UnknownField).then_some(error.nearest.is_some() && !is_deep(field))
    };
    let near: Option<Vec<_>> = fields.iter().map(near).collect();
    let few = |near: Vec<bool>| near.iter().filter(|is_near| **is_near).count() * 2 < near.len();
    !name.ends_with("retry.json") && fields.iter().any(is_deep) && near.is_some_and(few)
}

fn own(node: &Rc<Node>, document: Document) -> Named {
    Named { system: None, name: String::new(), document, node: Rc::clone(node), inside: String::new() }
}

/// The trees of a text.
struct Trees {
    documents: Vec<Rc<Node>>,
    only: Option<Only>,
}

/// More about the trees of a text.
enum Only {
    /// They are those of one system.
    System(System),
    /// Parts of them are templates.
    Templates,
}

/// The trees of a text, or its mistake, and whether that is one of YAML.
fn trees(name: &str, text: &str, system: Option<System>) -> Result<Trees, (bool, Broken)> {
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    let (is_yaml, is_json) = (ends(&[".yaml", ".yml"]), ends(&[".json", ".jsonc", ".json5"]));
    // .NET reads comments and trailing commas.
    let loose =
        system == Some(System::Core(Form::Polly)) || ends(&[".jsonc", ".json5"]) || name.contains("appsettings");
    let all = |documents| Trees { documents, only: None };
    let looks_like_json = text.trim_start().is_empty() || text.trim_start().starts_with(['{', '[', '"']);
    let is_hcl = ends(&[".tf", ".hcl"]);
    let is_free = !is_yaml && !is_json && !is_hcl;
    if CONFIGURATIONS
        && is_free
        && let Some(own) = of_one_system(text, system)
    {
        let root = match own {
            System::Haproxy => haproxy::haproxy(text),
            System::Nginx => nginx::nginx(text),
            _ => sections::sections(text),
        };
        let trees = |root| Trees { documents: vec![root], only: Some(Only::System(own)) };
        return root.map(trees).map_err(|broken| (false, broken));
    }
    if CONFIGURATIONS && ends(&[".properties"]) {
        return Ok(all(properties::properties(text)));
    }
    if CONFIGURATIONS && is_hcl {
        let trees =
            |hcl: hcl::Hcl| Trees { documents: vec![hcl.root], only: hcl.has_templates.then_some(Only::Templates) };
        return hcl::hcl(text).map(trees).map_err(|broken| (false, broken));
    }
    let trees = match is_json || looks_like_json && !is_yaml {
        true => json(text, loose).map(|node| all(vec![node])).map_err(|broken| (false, broken)),
        false => yaml(text).map(all).map_err(|broken| (true, broken)),
    };
    // A file of a format that is none of these has nothing to read.
    let is_of_another = system.is_none() && ends(&[".config", ".toml", ".ini", ".conf", ".cfg"]);
    if is_of_another { Ok(trees.unwrap_or_else(|_| all(Vec::new()))) } else { trees }
}

/// The one system that a text is written for: the one that a person says, or by its shape.
fn of_one_system(text: &str, system: Option<System>) -> Option<System> {
    match system {
        Some(System::Haproxy | System::Nginx | System::AwsConfig) => system,
        Some(_) => None,
        None if haproxy::is_haproxy(text) => Some(System::Haproxy),
        None if nginx::is_nginx(text) => Some(System::Nginx),
        None if sections::is_aws_config(text) => Some(System::AwsConfig),
        None => None,
    }
}

fn read_block(block: Block, file: &str, text: &str, reading: &mut Reading) {
    let Block { system, name, path, inside, node, chosen, left_out, unknown, .. } = block;
    let (node, defaults) = placeholder::filled(&node, system == System::Core(Form::Resilience4j));
    let mut note = |kind, words: &str| {
        let place = if name.is_empty() { &path } else { &name };
        let message = if place.is_empty() { words.to_owned() } else { format!("{place}: {words}") };
        reading.notes.push(Note { kind, message });
    };
    left_out.iter().for_each(|words| note(NoteKind::LeftOut, words));
    unknown.iter().for_each(|words| note(NoteKind::Unknown, words));
    if !unknown.is_empty() {
        return;
    }
    let read = |node: &Node| {
        let System::Core(form) = system else { return Document::read(node) };
        let reader = form.reader();
        Document::read_form(chosen.map_or(reader, |chosen| reader.entry(chosen)), node)
    };
    let (mut document, mut wrong) = (None, Vec::new());
    match translated(system, &node) {
        Some(Translated { document: own, mistakes, remarks, unknown, unsaid }) => {
            remarks.iter().for_each(|words| note(NoteKind::LeftOut, words));
            unknown.iter().for_each(|words| note(NoteKind::Unknown, words));
            unsaid.iter().for_each(|words| note(NoteKind::Unsaid, words));
            wrong.extend(mistakes.into_iter().map(|mistake| of_mistake(mistake, &node, file, text)));
            document = own;
        }
        None => match read(&node) {
            Ok(own) if !is_unknown(system, &node) => document = Some(own),
            Ok(_) => note(NoteKind::Unknown, "a value is not known before the file is used"),
            Err(first) => {
                for mut mistake in mistakes(first, &node, read) {
                    if node.value(&mistake.path).is_some_and(placeholder::has_unknown) {
                        let words = format!("{}: the value is not known before the file is used", mistake.path);
                        note(NoteKind::Unknown, &words);
                        continue;
                    }
                    if !inside.is_empty() && node.place(&mistake.path).is_none_or(|place| !place.is_whole) {
                        mistake.path = joined(&inside, &mistake.path);
                    }
                    wrong.push(finding(mistake, &node, file, text));
                }
            }
        },
    }
    if document.is_some() {
        for default in defaults.into_iter().filter(|default| is_part(system, &default.path)) {
            note(
                NoteKind::Default,
                &format!("{} = {}: the default of a placeholder counts", default.path, default.value),
            );
        }
    }
    reading.policies.extend(document.map(|document| Named {
        system: Some(system),
        name: name.clone(),
        document,
        node,
        inside,
    }));
    reading.wrong.extend(wrong.into_iter().map(|mut found| {
        (found.policy, found.form) = (name.clone(), system.name());
        found.message = joined(&path, &found.message);
        found.path = joined(&path, &found.path);
        found
    }));
}

/// True if a value that the policy was read of is known only when the file is used.
fn is_unknown(system: System, node: &Rc<Node>) -> bool {
    match parts(system) {
        [] => placeholder::has_unknown(node),
        parts => parts.iter().filter_map(|part| node.get(part)).any(|part| placeholder::has_unknown(part)),
    }
}

/// True if the value at a path is one of the policy: others may be secrets.
fn is_part(system: System, path: &str) -> bool {
    let first = path.split(['.', '[']).next().unwrap_or(path);
    parts(system).is_empty() || parts(system).contains(&first)
}

/// The finding about a mistake in an object that the core does not read.
fn of_mistake(mistake: Mistake, node: &Node, file: &str, text: &str) -> Finding {
    let Mistake { path, message, is_name } = mistake;
    let code = if is_name { ErrorCode::UnknownFormField } else { ErrorCode::FormValue };
    let place = node.place(&path).map(|place| place.name.filter(|_| is_name).unwrap_or(place.value));
    let span = place.unwrap_or_else(|| node.span.clone());
    let position = Some(line_and_column(text, span.start));
    Finding { position, span: Some(span), path, ..of_error(code, message, file) }
}

fn joined(path: &str, rest: &str) -> String {
    if path.is_empty() || rest.is_empty() { format!("{path}{rest}") } else { format!("{path}.{rest}") }
}

/// All mistakes of an object: the core says the first, and the next ones of the object without it.
fn mistakes(
    first: DocumentError,
    root: &Rc<Node>,
    read: impl Fn(&Node) -> Result<Document, DocumentError>,
) -> Vec<DocumentError> {
    let mut root = Rc::clone(root);
    let whole = Rc::clone(&root);
    if root.span.len() > LONGEST {
        return vec![first];
    }
    let (mut found, mut removed) = (Vec::<DocumentError>::new(), Vec::<String>::new());
    let mut next = Some(first);
    while let Some(mut wrong) = next.take() {
        let is_twice = wrong.error.code == ErrorCode::Twice;
        let goes_on = !is_twice && removed.len() < MOST_MISTAKES && root.remove(&wrong.path);
        let path = wrong.path.clone();
        // Items of a list have moved up for each that was removed before them.
        removed.iter().rev().for_each(|known| moved(&mut wrong.path, known));
        let is_there = found.is_empty() || whole.place(&wrong.path).is_some();
        if is_there && found.iter().all(|known| !follows(&known.path, &wrong)) {
            found.push(wrong);
        }
        if goes_on {
            removed.push(path);
            next = read(&root).err();
        }
    }
    found
}

/// The most mistakes of a file that are shown.
const MOST_MISTAKES: usize = 20;
/// The longest object, in bytes, whose mistakes after the first are shown: finding each one reads the whole object.
const LONGEST: usize = 100_000;

/// Changes a path in a document to that before an item of a list was removed.
fn moved(path: &mut String, removed: &str) {
    let Some((list, index)) = removed.strip_suffix(']').and_then(|path| path.rsplit_once('[')) else { return };
    let behind = path.strip_prefix(list).and_then(|rest| rest.strip_prefix('[')).and_then(|rest| rest.split_once(']'));
    if let Some((at, rest)) = behind
        && let (Ok(at), Ok(index)) = (at.parse::<usize>(), index.parse::<usize>())
        && at >= index
    {
        *path = format!("{list}[{}]{rest}", at + 1);
    }
}

/// True for an error that is there because the value at `path` was removed: it is missing, or others do not fit without it.
fn follows(path: &str, next: &DocumentError) -> bool {
    let group = path.strip_suffix(".kind").or_else(|| path.strip_suffix(".mode"));
    let is_about_kind = next.error.code == ErrorCode::NotForKind || next.error.code.name().ends_with("_missing");
    within(path, &next.path) || is_about_kind && group.is_some_and(|group| within(group, &next.path))
}

/// True if one of two paths is in the other.
fn within(one: &str, other: &str) -> bool {
    let is_in = |outer: &str, inner: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    is_in(one, other) || is_in(other, one)
}

fn finding(mut error: DocumentError, node: &Node, file: &str, text: &str) -> Finding {
    let code = error.error.code;
    // A value is wrong at its place, a name that is not known, or occurs twice, at that of the name.
    let is_name = matches!(code, ErrorCode::UnknownField | ErrorCode::UnknownFormField | ErrorCode::Twice);
    // What belongs to no policy may be a secret.
    if is_name || error.path.is_empty() {
        error.value = None;
    }
    let place = node.place(&error.path).map(|place| match place.name {
        Some(name) if is_name => name,
        None if is_name => place.value.start..place.value.start,
        _ => place.value,
    });
    let whole = || (error.path.is_empty() || node.span.start == 0).then_some(());
    let span = place.or_else(|| if whole().is_some() { None } else { Some(node.span.clone()) });
    let position = span.as_ref().map(|span| line_and_column(text, span.start));
    Finding { position, span, path: error.path.clone(), ..of_error(code, error.to_string(), file) }
}

/// The finding about an error that has no place.
fn of_error(code: ErrorCode, message: String, file: &str) -> Finding {
    Finding {
        policy: String::new(),
        form: "holdoff",
        effect: String::new(),
        weight: 0.0,
        severity: Severity::Error,
        code: code.code(),
        name: code.name(),
        message,
        position: None,
        span: None,
        path: String::new(),
        file: file.to_owned(),
    }
}

/// The finding about text that is not of its format.
fn of_broken(is_yaml: bool, broken: Broken, file: &str, text: &str) -> Finding {
    let words = broken.words.rsplit_once(" at line ").map_or(&*broken.words, |(words, _)| words);
    let words = words.replace("EOF while parsing", "the text ends in the middle of");
    let message = match is_yaml {
        _ if text.trim().is_empty() => "a policy document must be JSON text: there is none".to_owned(),
        true => format!("must be YAML text: {words}"),
        false => format!("a policy document must be JSON text: {words}"),
    };
    let start = (0..=broken.at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let span = start..start + text[start..].chars().next().map_or(0, char::len_utf8);
    Finding {
        position: Some(line_and_column(text, start)),
        span: Some(span),
        ..of_error(ErrorCode::NotJson, message, file)
    }
}
