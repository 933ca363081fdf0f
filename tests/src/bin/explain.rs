//! Prints what a policy does: a preset by its name, a file with a policy document, or with another system's form.

use anyhow::{Context as _, Result, anyhow, bail};
use conformance::documents;
use holdoff_core::{Document, Form, Preset};
use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    match explain() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn explain() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().context("the name of a preset, or a file")?;
    let form = match arguments.next() {
        None => None,
        Some(name) => {
            let all = Form::ALL.map(Form::name).join(", ");
            Some(Form::from_name(&name).ok_or_else(|| anyhow!("{name} is none of {all}"))?)
        }
    };
    let preset = Preset::from_name(&what).filter(|_| form.is_none() && !Path::new(&what).exists());
    let (policy, guards) = match preset {
        Some(preset) => (preset.policy(), preset.guards()),
        None => read(&what, form).map(|document| (document.policy, document.guards))?,
    };
    println!("{}", policy.explain().guarded(&guards));
    Ok(())
}

/// The document in a file, or what comes in for `-`.
fn read(file: &str, form: Option<Form>) -> Result<Document> {
    let mut text = String::new();
    if file == "-" {
        std::io::stdin().read_to_string(&mut text)?;
    } else if Path::new(file).exists() {
        text = std::fs::read_to_string(file).with_context(|| file.to_owned())?;
    } else {
        bail!("{file} is no file and no preset: {}", unknown(file));
    }
    let read = match form {
        None => documents::read(&text),
        Some(form) => documents::read_form(form.reader(), &text),
    };
    read.map_err(|error| anyhow!("{file}: {error}"))
}

/// What the core says of a name that is no preset.
fn unknown(name: &str) -> String {
    let error = documents::read(&serde_json::json!({ "preset": name }).to_string()).err();
    error.map_or_else(String::new, |error| error.to_string())
}
