//! `bindgen <module.wasm> <folder> <name>`: the JavaScript around a module with wasm-bindgen's annotations, its declarations, and
//! the module without what only this program reads.

use anyhow::{Context as _, Result};
use std::env::args;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<()> {
    let [module, folder, name] =
        args().skip(1).collect::<Vec<_>>().try_into().ok().context("a module, a folder, a name")?;
    let mut bindgen = Bindgen::new();
    bindgen
        .input_path(module)
        .out_name(&name)
        .typescript(true)
        .remove_name_section(true)
        .remove_producers_section(true);
    bindgen.omit_default_module_path(true).web(true)?.generate(folder)
}
