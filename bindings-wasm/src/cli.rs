//! The command line as a module for Node.js, which gives the arguments, the files and the width of the terminal.
#![allow(unsafe_code, reason = "wasm-bindgen makes it")]
#![allow(unreachable_pub, reason = "wasm-bindgen exports what is public")]

use holdoff_cli::{Host, Output};
use js_sys::{Array, Error, Function, Uint8Array};
use wasm_bindgen::prelude::*;

/// The end of a run: two texts, the exit code, and the wish about colours: `auto`, `always` or `never`.
#[wasm_bindgen(getter_with_clone)]
pub struct Ended {
    pub out: String,
    pub err: String,
    pub code: u8,
    pub color: String,
}

/// Runs the program. The first argument is its name; `read` gives the bytes of a file and `list` the names in a folder, or throws;
/// `progress` shows a text in place of the last one.
#[wasm_bindgen]
pub fn run(arguments: Vec<String>, read: &Function, list: &Function, progress: &Function, width: usize) -> Ended {
    let called = |function: &Function, text: &str| {
        function.call1(&JsValue::NULL, &text.into()).map_err(|thrown| String::from(Error::from(thrown).message()))
    };
    let read = |path: &str| called(read, path).map(|bytes| Uint8Array::new(&bytes).to_vec());
    let list = |folder: &str| {
        called(list, folder).map(|names| Array::from(&names).iter().filter_map(|name| name.as_string()).collect())
    };
    let progress = |text: &str| drop(called(progress, text));
    let host = Host { read: &read, list: &list, progress: &progress, width };
    let Output { color, out, err, code } = holdoff_cli::run(arguments, host);
    Ended { out, err, code, color: color.to_string() }
}
