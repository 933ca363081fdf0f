//! The command line as a module for Node.js, which gives the arguments, the files and the width of the terminal.
#![allow(unsafe_code, reason = "wasm-bindgen makes it")]
#![allow(unreachable_pub, reason = "wasm-bindgen exports what is public")]

use holdoff_cli::{Entry, EntryKind, Host, Output};
use js_sys::{Error, Uint8Array};
use wasm_bindgen::prelude::*;

/// The end of a run: two texts, the exit code, and the wish about colours: `auto`, `always` or `never`.
#[wasm_bindgen(getter_with_clone)]
pub struct Ended {
    pub out: String,
    pub err: String,
    pub code: u8,
    pub color: String,
}

/// The functions of the host: `read` gives the bytes of a file, `size` their number, `list` the names in a folder with the letter of
/// their kind before each (`f`ile, `d`irectory, `l`ink, `o`ther), `write` keeps a text. They throw errors. `progress` shows a text
/// in place of the last one.
#[wasm_bindgen]
extern "C" {
    pub type Functions;
    #[wasm_bindgen(method, catch)]
    fn read(this: &Functions, path: &str) -> Result<Uint8Array, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn size(this: &Functions, path: &str) -> Result<f64, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn list(this: &Functions, folder: &str) -> Result<Vec<String>, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn write(this: &Functions, path: &str, text: &str) -> Result<(), JsValue>;
    #[wasm_bindgen(method)]
    fn progress(this: &Functions, text: &str);
}

fn words(thrown: JsValue) -> String {
    Error::from(thrown).message().into()
}

fn entry(name: String) -> Option<Entry> {
    let kind = match name.chars().next()? {
        'f' => EntryKind::File,
        'd' => EntryKind::Folder,
        'l' => EntryKind::Link,
        _ => EntryKind::Other,
    };
    Some(Entry { name: name.get(1..)?.to_owned(), kind })
}

/// Runs the program. The first argument is its name.
#[wasm_bindgen]
pub fn run(arguments: Vec<String>, functions: &Functions, width: usize) -> Ended {
    let host = Host {
        read: &|path| functions.read(path).map(|bytes| bytes.to_vec()).map_err(words),
        size: &|path| functions.size(path).map(|size| size as u64).map_err(words),
        list: &|folder| {
            functions.list(folder).map(|names| names.into_iter().filter_map(entry).collect()).map_err(words)
        },
        write: &|path, text| functions.write(path, text).map_err(words),
        start: None,
        progress: &|text| functions.progress(text),
        width,
    };
    let Output { color, out, err, code } = holdoff_cli::run(arguments, host);
    Ended { out, err, code, color: color.to_string() }
}
