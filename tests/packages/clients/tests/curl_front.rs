//! `holdoff_curl.h` in a program, against the flaky server: how many requests arrive, and what the program gets.

#![allow(missing_docs, unsafe_code, clippy::unwrap_used)]

use demo::flaky::Flaky;
use real_clients::holdoff_c as _;
use std::ffi::{CString, c_char};
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

#[repr(C)]
#[derive(Clone)]
struct Case {
    url: *const c_char,
    method: *const c_char,
    body: *const c_char,
    deadline_ms: u64,
    writes: bool,
    rewinds: bool,
    idempotent: bool,
    upload: bool,
    reader: bool,
    aborts: bool,
    multi: bool,
}

#[repr(C)]
struct End {
    code: u32,
    status: u32,
    outcome: u32,
    reason: u32,
    attempts: u32,
    length: u32,
    rewound: u32,
    got: [u8; 4096],
}

impl End {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.got[..(self.length as usize).min(self.got.len())]).into_owned()
    }
}

unsafe extern "C" {
    fn curl_front_play(case: *const Case, end: *mut End);
    fn curl_front_again(url: *const c_char, end: *mut End);
    fn curl_front_kept(url: *const c_char, fresh: bool, end: *mut End);
    fn curl_front_cancel(url: *const c_char, in_delay: bool, end: *mut End);
}

/// A case in which nothing is said.
const NOTHING: Case = Case {
    url: std::ptr::null(),
    method: std::ptr::null(),
    body: std::ptr::null(),
    deadline_ms: 0,
    writes: false,
    rewinds: false,
    idempotent: false,
    upload: false,
    reader: false,
    aborts: false,
    multi: false,
};

const OK: u32 = 0;
const COULD_NOT_CONNECT: u32 = 7;
const HTTP_RETURNED_ERROR: u32 = 22;
const TIMED_OUT: u32 = 28;
const ABORTED: u32 = 42;
const WRITE_ERROR: u32 = 23;
const RECEIVE_ERROR: u32 = 56;

const CANCELLED: u32 = 3;

const PERMANENT: u32 = 1;
const ATTEMPTS: u32 = 2;
const DEADLINE: u32 = 3;
const HINT: u32 = 8;
const BODY: u32 = 10;

/// A request: its method and body, its address, the options that are on, and then what it becomes: code, reason, requests, and
/// the body that the program has got.
type Row = (&'static str, &'static str, &'static [&'static str], u32, u32, u32, &'static str);

/// What the server sends of a body that stalls.
const QUARTER: &str = match std::str::from_utf8(&[b'.'; 1024]) {
    Ok(text) => text,
    Err(_) => "",
};

/// Worked out from the rules of docs/fronts/curl.md before the first run.
const ROWS: &[Row] = &[
    ("GET", "{http}/status/503?times=0&ok=fine", &[], OK, 0, 1, "fine"),
    ("GET", "{http}/status/503?times=2&body=busy&ok=fine", &[], OK, 0, 3, "fine"),
    ("GET", "{http}/status/503?times=2&body=busy&ok=fine", &["write"], OK, 0, 3, "fine"),
    ("GET", "{http}/status/503?body=busy", &[], HTTP_RETURNED_ERROR, ATTEMPTS, 3, ""),
    ("GET", "{http}/status/503?body=busy", &["write"], OK, ATTEMPTS, 3, "busy"),
    ("GET", "{http}/status/404?body=gone", &[], HTTP_RETURNED_ERROR, PERMANENT, 1, ""),
    ("GET", "{http}/status/404?body=gone", &["write"], OK, PERMANENT, 1, "gone"),
    ("POST", "{http}/status/503?times=2&ok=fine", &["fields"], HTTP_RETURNED_ERROR, PERMANENT, 1, ""),
    ("POST", "{http}/status/503?times=2&ok=fine", &["fields", "idempotent"], OK, 0, 3, "fine"),
    ("POST", "{http}/status/429?times=2&ok=fine", &["fields"], OK, 0, 3, "fine"),
    ("POST", "{http}/status/425?times=2&ok=fine", &["fields"], OK, 0, 3, "fine"),
    ("POST", "{http}/reset?times=2&ok=fine", &["fields"], RECEIVE_ERROR, PERMANENT, 1, ""),
    ("POST", "{closed}/", &["fields"], COULD_NOT_CONNECT, ATTEMPTS, 3, ""),
    ("DELETE", "{http}/status/503?times=2&ok=fine", &[], OK, 0, 3, "fine"),
    ("PUT", "{http}/status/503?times=2&ok=fine", &["upload"], HTTP_RETURNED_ERROR, BODY, 1, ""),
    ("PUT", "{http}/status/503?times=2&ok=fine", &["upload", "rewind"], OK, 0, 3, "fine"),
    ("GET", "{http}/reset?times=2&ok=fine", &[], OK, 0, 3, "fine"),
    ("GET", "{http}/truncated?times=1&ok=fine", &["rewind"], OK, 0, 2, "fine"),
    ("GET", "{http}/status/503?header=Retry-After:3600", &[], HTTP_RETURNED_ERROR, HINT, 1, ""),
    ("GET", "{http}/status/503?times=1&header=retry-after-ms:30&ok=fine", &[], OK, 0, 2, "fine"),
    ("GET", "{http}/status/503?header=x-should-retry:false", &[], HTTP_RETURNED_ERROR, PERMANENT, 1, ""),
    ("GET", "{http}/status/400?times=1&header=x-should-retry:true&ok=fine", &[], OK, 0, 2, "fine"),
    ("GET", "{http}/stall", &["deadline"], TIMED_OUT, DEADLINE, 1, ""),
    ("GET", "{http}/redirects", &[], 47, PERMANENT, 6, ""),
    // A function that cannot begin anew would send an empty body.
    ("POST", "{http}/status/429?times=1&ok=fine", &["reader"], ABORTED, BODY, 1, ""),
    ("POST", "{http}/status/429?times=1&ok=fine", &["reader", "rewind"], OK, 0, 2, "fine"),
    // The deadline covers redirects and the body.
    ("GET", "{http}/status/302?header=Location:/stall", &["deadline", "idempotent"], TIMED_OUT, DEADLINE, 1, ""),
    ("GET", "{http}/stall-body", &["deadline", "write", "rewind"], TIMED_OUT, DEADLINE, 1, QUARTER),
    ("GET", "{http}/endless/503?times=1&ok=fine", &[], OK, 0, 2, "fine"),
    ("GET", "{http}/endless/503?times=1&ok=fine", &["write"], OK, 0, 2, "fine"),
    // Whoever ends a refused answer wants no other one.
    ("GET", "{http}/status/503?times=1&body=busy&ok=fine", &["write", "aborts"], ABORTED, PERMANENT, 1, "busy"),
    // Servers that lie.
    ("GET", "{http}/status/503?header=Retry-After:31536000", &[], HTTP_RETURNED_ERROR, HINT, 1, ""),
    (
        "GET",
        "{http}/status/503?times=1&header=Retry-After:3600&header=retry-after-ms:30&ok=fine",
        &[],
        OK,
        0,
        2,
        "fine",
    ),
    ("GET", "{http}/status/503?header=Retry-After:0&header=Retry-After:3600", &[], HTTP_RETURNED_ERROR, HINT, 1, ""),
    ("GET", "{http}/status/200?header=Retry-After:3600&body=fine", &[], OK, 0, 1, "fine"),
];

fn requests(flaky: &Flaky, name: &str) -> u32 {
    let mut server = TcpStream::connect(("127.0.0.1", flaky.ports["http"])).unwrap();
    write!(server, "GET /seen/{name} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    server.read_to_string(&mut answer).unwrap();
    let count = answer.split("\"requests\":").nth(1).unwrap().trim_start();
    count.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

fn run(play: impl FnOnce(*mut End)) -> End {
    // SAFETY: numbers and bytes, for which zero is a value.
    let mut end: End = unsafe { std::mem::zeroed() };
    tokio::task::block_in_place(|| play(&raw mut end));
    end
}

fn play(case: &Case) -> End {
    // SAFETY: the texts of the case live longer.
    run(|end| unsafe { curl_front_play(case, end) })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_request_arrives_as_often_as_it_may() {
    let flaky = Flaky::start().await.unwrap();
    let mut wrong = String::new();
    for (at, (method, url, options, code, reason, wanted, got)) in ROWS.iter().enumerate() {
        for multi in [false, true] {
            let name = format!("curl-{at}-{multi}");
            let url = flaky.expand(url);
            let sign = if url.contains('?') { '&' } else { '?' };
            let [url, method, body] = [format!("{url}{sign}id={name}"), (*method).to_owned(), "paid".to_owned()]
                .map(|text| CString::new(text).unwrap());
            let has = |option| options.contains(&option);
            let end = play(&Case {
                url: url.as_ptr(),
                method: method.as_ptr(),
                body: if has("fields") || has("upload") || has("reader") { body.as_ptr() } else { std::ptr::null() },
                deadline_ms: if has("deadline") { 300 } else { 0 },
                writes: has("write"),
                rewinds: has("rewind"),
                idempotent: has("idempotent"),
                upload: has("upload"),
                reader: has("reader"),
                aborts: has("aborts"),
                multi,
            });
            let text = end.text();
            let is_closed = url.to_string_lossy().contains(&format!(":{}/", flaky.ports["closed"]));
            let seen = if is_closed { end.attempts } else { requests(&flaky, &name) };
            let (now, due) = ((end.code, end.reason, seen, text.as_str()), (*code, *reason, *wanted, *got));
            if now != due {
                let _ = writeln!(
                    wrong,
                    "{method:?} {url:?} {options:?} multi {multi}: {now:?}, not {due:?}, status {}",
                    end.status
                );
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_breaks_off_is_asked_for_again_only_by_a_program_that_can_drop_a_part() {
    let flaky = Flaky::start().await.unwrap();
    let url = CString::new(flaky.expand("{http}/truncated?id=curl-part")).unwrap();
    let method = CString::new("GET").unwrap();
    let case = Case { url: url.as_ptr(), method: method.as_ptr(), ..NOTHING };
    let end = play(&case);
    assert_eq!((end.reason, end.attempts, end.rewound), (BODY, 1, 0));
    let end = play(&Case { rewinds: true, writes: true, ..case });
    assert_eq!((end.reason, end.attempts, end.rewound), (ATTEMPTS, 3, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handle_is_the_programs_again_after_a_call() {
    let flaky = Flaky::start().await.unwrap();
    let url = CString::new(flaky.expand("{http}/status/503?times=1&ok=fine&id=curl-again")).unwrap();
    // SAFETY: the text lives longer.
    let end = run(|end| unsafe { curl_front_again(url.as_ptr(), end) });
    assert_eq!((end.code, end.text().as_str(), requests(&flaky, "curl-again")), (OK, "finefinefine", 4));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transfer_can_be_given_up_in_its_attempt_and_in_its_delay() {
    let flaky = Flaky::start().await.unwrap();
    for (in_delay, path) in [(false, "stall"), (true, "status/503")] {
        let url = CString::new(flaky.expand(&format!("{{http}}/{path}"))).unwrap();
        // SAFETY: the text lives longer.
        let end = run(|end| unsafe { curl_front_cancel(url.as_ptr(), in_delay, end) });
        assert_eq!((end.outcome, end.attempts, end.rewound), (CANCELLED, 1, 1), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_answer_without_an_end_is_cut_off_behind_a_megabyte() {
    let flaky = Flaky::start().await.unwrap();
    let method = CString::new("GET").unwrap();
    let url = CString::new(flaky.expand("{http}/endless/404")).unwrap();
    let end = play(&Case { url: url.as_ptr(), method: method.as_ptr(), writes: true, ..NOTHING });
    assert_eq!((end.code, end.reason, end.length), (WRITE_ERROR, PERMANENT, 1 << 20));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn libcurl_itself_repeats_a_post_on_a_kept_connection_unless_each_has_its_own() {
    let flaky = Flaky::start().await.unwrap();
    for (fresh, wanted) in [(false, 3), (true, 2)] {
        let name = format!("curl-kept-{fresh}");
        let url = CString::new(flaky.expand(&format!("{{http}}/keep-alive?id={name}"))).unwrap();
        // SAFETY: the text lives longer.
        let end = run(|end| unsafe { curl_front_kept(url.as_ptr(), fresh, end) });
        assert_eq!((end.code, requests(&flaky, &name)), (OK, wanted));
    }
}
