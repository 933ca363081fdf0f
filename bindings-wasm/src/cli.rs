//! The command line as a module for Node.js, which gives the arguments, the files and the width of the terminal.
#![allow(unsafe_code, reason = "wasm-bindgen makes it")]
#![allow(unreachable_pub, reason = "wasm-bindgen exports what is public")]

use holdoff_cli::{Host, Output};
use js_sys::{Error, Function, Uint8Array};
use wasm_bindgen::prelude::*;

/// The end of a run: two texts, and the exit code.
#[wasm_bindgen(getter_with_clone)]
pub struct Ended {
    pub out: String,
    pub err: String,
    pub code: u8,
}

/// Runs the program. The first argument is its name; `read` gives the bytes of a file, or throws.
#[wasm_bindgen]
pub fn run(arguments: Vec<String>, read: &Function, width: usize) -> Ended {
    let read = |path: &str| {
        let bytes =
            read.call1(&JsValue::NULL, &path.into()).map_err(|thrown| String::from(Error::from(thrown).message()))?;
        Ok(Uint8Array::new(&bytes).to_vec())
    };
    let Output { out, err, code } = holdoff_cli::run(arguments, Host { read: &read, width });
    Ended { out, err, code }
}
