//! `convert`: policies from and into the formats of other systems.

use crate::host::{Answer, Host, Output, error};
use crate::input::{Format, form};
use crate::style::{WARNING, styled};
use clap::Args;
use holdoff_core::Form;
use serde_json::Value;

/// Read a policy in one format and print it in another.
#[derive(Args)]
pub(crate) struct Convert {
    /// A preset, or a JSON file with a policy (`-`: the standard input).
    #[arg(value_hint = clap::ValueHint::FilePath)]
    policy: String,
    #[command(flatten)]
    form: Format,
    /// The format to print (default: a policy document).
    #[arg(long, value_name = "FORM", value_parser = form())]
    to: Option<Form>,
}

impl Convert {
    pub(crate) fn run(&self, host: &Host<'_>) -> Answer {
        let document = self.form.policy(&self.policy, host).map_err(|problem| problem.render(host))?.document;
        let mut err = String::new();
        let text = match self.to {
            Some(form) => document.to_form(form).map_err(|cause| error(format_args!("{}: {cause}", form.name())))?,
            None => {
                if !document.error_types.is_empty() {
                    let types = document.error_types.join(", ");
                    let lost = "the types of errors that are never retried have no place in a document";
                    err = format!("{}: {lost}: {types}\n", styled(WARNING, "warning"));
                }
                document.to_json()
            }
        };
        Ok(Output { out: pretty(&text), err, ..Output::default() })
    }
}

/// JSON text, a line for each field.
pub(crate) fn pretty(text: &str) -> String {
    serde_json::from_str::<Value>(text).map_or_else(|_| text.to_owned(), |value| format!("{value:#}")) + "\n"
}
