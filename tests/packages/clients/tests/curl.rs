//! Each case of `tests/clients/libcurl.json`, played by libcurl against the flaky server.

#![allow(missing_docs, unsafe_code, clippy::unwrap_used)]

use conformance::clients::{Again, Kind, Limit, clients, situations};
use demo::flaky::Flaky;
use real_clients::holdoff_c as _;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_long};
use std::fmt::Write as _;
use std::path::Path;

#[repr(C)]
struct Request {
    url: *const c_char,
    proxy: *const c_char,
    authority: *const c_char,
    connect_ms: c_long,
    total_ms: c_long,
    first: bool,
    abort: bool,
}

#[repr(C)]
#[derive(Default, Debug)]
struct Judgement {
    code: u32,
    status: u32,
    kind: u32,
    kind_once: u32,
    hint: u32,
    hint_ns: u64,
}

unsafe extern "C" {
    fn curl_client_play(request: *const Request, judgement: *mut Judgement);
    fn curl_version() -> *const c_char;
}

const PERMANENT: u32 = 4;
/// The limit of a case that needs one, in milliseconds.
const LIMIT: c_long = 400;

impl Judgement {
    fn read(&self) -> (Kind, Again, Option<f64>) {
        let kind = match self.kind {
            0 => Kind::Success,
            1 => Kind::Transient,
            2 => Kind::Throttled,
            3 => Kind::Timeout,
            _ => Kind::Permanent,
        };
        let again = match [self.kind, self.kind_once].map(|kind| kind != PERMANENT && kind != 0) {
            [_, true] => Again::Always,
            [true, false] => Again::Idempotent,
            [false, false] => Again::Never,
        };
        (kind, again, (self.hint == 1).then(|| self.hint_ns as f64 / 1e6))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn libcurl_is_judged_by_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let situations: BTreeMap<_, _> = situations(&root).unwrap().into_iter().collect();
    let client = clients(&root).unwrap().remove("libcurl").unwrap();
    let flaky = Flaky::start().await.unwrap();
    let authority = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("authority-{}.pem", flaky.ports["http"]));
    std::fs::write(&authority, &flaky.authority).unwrap();
    let authority = CString::new(authority.to_str().unwrap()).unwrap();
    // SAFETY: the library's own constant.
    let version = unsafe { CStr::from_ptr(curl_version()) }.to_str().unwrap();
    assert!(version.starts_with("libcurl/"), "{version}");
    let mut wrong = String::new();
    for case in &client.cases {
        let situation = &situations[&case.situation];
        let text = |given: &Option<String>| given.as_ref().map(|text| CString::new(flaky.expand(text)).unwrap());
        let (url, proxy) = (text(&situation.url).unwrap(), text(&situation.proxy));
        let request = Request {
            url: url.as_ptr(),
            proxy: proxy.as_ref().map_or(std::ptr::null(), |proxy| proxy.as_ptr()),
            authority: authority.as_ptr(),
            connect_ms: if situation.limit == Some(Limit::Connect) { LIMIT } else { 0 },
            total_ms: if situation.limit == Some(Limit::Read) { LIMIT } else { 0 },
            first: situation.first,
            abort: situation.abort,
        };
        let mut seen = Judgement::default();
        // SAFETY: all texts live until the call returns.
        tokio::task::block_in_place(|| unsafe { curl_client_play(&request, &mut seen) });
        let wanted = (
            case.kind.unwrap_or(situation.kind),
            case.again.unwrap_or(situation.again),
            case.hint_ms.unwrap_or(situation.hint_ms),
        );
        if seen.read() != wanted {
            let _ = writeln!(wrong, "{}: {:?}, not {wanted:?}: {seen:?}", case.situation, seen.read());
        }
    }
    assert!(wrong.is_empty(), "{version}\n{wrong}");
}
