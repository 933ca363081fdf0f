//! How the errors of real clients are judged: `tests/clients`. `situations.json` has every situation with the judgement that it
//! gets; the file of a client has the situations that are played with it, and its reasons where the judgement is another.

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// What an error is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A failure that may go away.
    Transient,
    /// A server that asks for less.
    Throttled,
    /// No answer in time.
    Timeout,
    /// A failure that comes again.
    Permanent,
    /// The caller's own wish.
    Cancelled,
    /// No failure.
    Success,
}

/// Which operations are tried again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Again {
    /// Every operation: the server has done nothing.
    Always,
    /// Operations that can run twice.
    Idempotent,
    /// None.
    Never,
}

/// The limit of the client's own that a runner sets low.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// For making the connection.
    Connect,
    /// For reading.
    Read,
}

/// A situation. In its texts `{NAME}` is the origin of a port of the flaky server.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Situation {
    /// A sentence.
    pub about: String,
    /// The address that is asked for.
    pub url: Option<String>,
    /// The proxy that is asked.
    pub proxy: Option<String>,
    /// The client's limit that ends the request.
    pub limit: Option<Limit>,
    /// True if the same request was made before, on the same connection.
    #[serde(default)]
    pub first: bool,
    /// True if the caller aborts.
    #[serde(default)]
    pub abort: bool,
    /// The code with which a gRPC call ends.
    pub grpc: Option<String>,
    /// The pushback that it brings.
    pub pushback: Option<String>,
    /// How the error is made if no address makes it.
    pub error: Option<String>,
    /// The judgement.
    pub kind: Kind,
    /// Whether the operation is tried again by default.
    pub again: Again,
    /// The hint.
    pub hint_ms: Option<f64>,
}

/// A situation that a client is in.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The name of the situation.
    pub situation: String,
    /// The judgement, if it is not the situation's.
    pub kind: Option<Kind>,
    /// The same for the next attempt.
    pub again: Option<Again>,
    /// The same for the hint; `null` for no hint.
    #[serde(default, deserialize_with = "given")]
    pub hint_ms: Option<Option<f64>>,
    /// Why it is another; a sentence.
    pub reason: Option<String>,
    /// The class that is raised instead of playing the situation.
    pub raises: Option<String>,
}

/// Tells `null` from nothing.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<f64>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// A client and its cases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// Its name, as its package is called.
    pub client: String,
    /// The language.
    pub language: String,
    /// The version that is played.
    pub version: String,
    /// What a user has to know, for the page.
    pub note: Option<String>,
    /// Its situations.
    pub cases: Vec<Case>,
}

/// The languages, in the order of the page.
pub const LANGUAGES: [&str; 4] = ["Python", "JavaScript", "Rust", "C"];

/// All situations by their names, in the order of the file.
///
/// # Errors
/// When the file cannot be read.
pub fn situations(root: &Path) -> Result<Vec<(String, Situation)>> {
    let path = root.join("tests/clients/situations.json");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let all: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text)?;
    let read = |(name, value): (String, serde_json::Value)| {
        let situation = serde_json::from_value(value).with_context(|| name.clone())?;
        Ok((name, situation))
    };
    all.into_iter().map(read).collect()
}

/// All clients by the names of their files.
///
/// # Errors
/// When a file cannot be read.
pub fn clients(root: &Path) -> Result<BTreeMap<String, Client>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(root.join("tests/clients"))? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.extension().is_some_and(|end| end == "json") && name != "situations" {
            let client: Client =
                serde_json::from_str(&std::fs::read_to_string(&path)?).with_context(|| name.clone())?;
            if !LANGUAGES.contains(&client.language.as_str()) {
                bail!("{name}: the language {:?} is none of {LANGUAGES:?}", client.language);
            }
            all.insert(name, client);
        }
    }
    Ok(all)
}
