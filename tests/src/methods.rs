//! The methods of guards in the wasm module, read from their rows in bindings-wasm/src/guards/single.rs.

use anyhow::{Context as _, Result};

/// An argument: name, type, and default.
pub type Argument = (String, String, Option<String>);

/// A row.
#[derive(Clone, Debug)]
pub struct Method {
    /// The documentation.
    pub doc: String,
    /// `fn`, `get`, `watch` or `change`.
    pub sort: String,
    /// The name of the exported function: the guard and the method.
    pub name: String,
    /// The arguments of the function.
    pub arguments: Vec<Argument>,
    /// The length of time that is an argument, too.
    pub long: Option<Argument>,
    /// True if it takes the time.
    pub is_timed: bool,
    /// The type of the answer.
    pub answer: Option<String>,
    /// The names of the numbers of an answer.
    pub numbers: Vec<String>,
}

/// Reads the rows of a source.
///
/// # Errors
/// A row that is not complete.
pub fn methods(source: &str) -> Result<Vec<Method>> {
    let (mut methods, mut doc) = (Vec::new(), Vec::new());
    let lines =
        source.split("\nmethods! {").skip(1).flat_map(|part| part.lines().skip(1).take_while(|line| *line != "}"));
    for line in lines.map(str::trim) {
        match line.strip_prefix("/// ") {
            Some(text) => doc.push(text),
            None if line.is_empty() => {}
            None => methods.push(method(line, std::mem::take(&mut doc).join(" ")).with_context(|| line.to_owned())?),
        }
    }
    Ok(methods)
}

fn method(line: &str, doc: String) -> Option<Method> {
    let (sort, rest) = line.split_once(' ')?;
    let (name, rest) = rest.split_once('(')?;
    let (arguments, rest) = rest.split_once(')')?;
    let (head, _) = rest.split_once(" = ")?;
    let (arguments, long) = arguments.split_once(';').unwrap_or((arguments, ""));
    let (time, answer) = head.split_once("->").unwrap_or((head, ""));
    let (answer, numbers) = answer.split_once('{').unwrap_or((answer, ""));
    let numbers = numbers.trim_end_matches([' ', '}']).split(',').map(|name| name.trim().to_owned());
    Some(Method {
        doc,
        sort: sort.into(),
        name: name.into(),
        arguments: arguments.split(", ").filter_map(argument).collect(),
        long: argument(long),
        is_timed: time.contains("at now"),
        answer: Some(answer.trim().to_owned()).filter(|answer| !answer.is_empty()),
        numbers: numbers.filter(|name| !name.is_empty()).collect(),
    })
}

fn argument(text: &str) -> Option<Argument> {
    let (name, of) = text.trim().split_once(": ")?;
    let (of, default) = of.split_once(" = ").map_or((of, None), |(of, default)| (of, Some(default.to_owned())));
    Some((name.into(), of.into(), default))
}
