//! `holdoff audit run` starts a Python that has holdoff-audit, or says what to install.

use anstream::adapter::strip_str;
use holdoff_cli::{Host, Output, Start, run};
use std::cell::RefCell;
use std::ffi::OsString;

fn ran(command: &[&str], start: Option<&Start<'_>>) -> Output {
    let missing = || Err("there is no such file".to_owned());
    let host = Host {
        read: &|_| Err("there is no such file".to_owned()),
        size: &|_| Ok(0),
        list: &|_| Ok(Vec::new()),
        write: &|_, _| missing(),
        start,
        progress: &|_| {},
        width: 200,
    };
    let output = run(["holdoff", "audit"].iter().chain(command), host);
    Output { err: strip_str(&output.err).to_string(), ..output }
}

#[test]
fn the_arguments_go_to_python_as_they_are() {
    let started = RefCell::new(Vec::new());
    let start = |program: &str, arguments: &[OsString]| {
        started.borrow_mut().push((program.to_owned(), arguments.join(" ".as_ref()).into_string().unwrap()));
        // The first start only looks for the module.
        Ok(if started.borrow().len() == 1 { 0 } else { 7 })
    };
    let output = ran(
        &["run", "--python", "venv/bin/python", "--fail", "429 retry-after 1", "app.py", "--color", "-h"],
        Some(&start),
    );
    assert_eq!((output.code, output.err.as_str()), (7, ""));
    let [(probed, _), (program, arguments)] = &started.borrow()[..] else { panic!("{started:?}") };
    assert_eq!((probed.as_str(), program.as_str()), ("venv/bin/python", "venv/bin/python"));
    assert_eq!(arguments, "-m holdoff_audit run --fail 429 retry-after 1 app.py --color -h");
}

#[test]
fn help_is_that_of_the_audit() {
    let last = RefCell::new(String::new());
    let start = |_: &str, arguments: &[OsString]| {
        *last.borrow_mut() = arguments.join(" ".as_ref()).into_string().unwrap();
        Ok(0)
    };
    assert_eq!(ran(&["run", "--help"], Some(&start)).code, 0);
    assert_eq!(last.take(), "-m holdoff_audit run --help");
}

#[test]
fn it_is_said_what_to_install() {
    let output = ran(&["run", "app.py"], Some(&|_, _| Ok(1)));
    let install = "python3: holdoff-audit is not installed there; run: python3 -m pip install holdoff-audit";
    assert!(output.err.contains(install) && output.code == 2, "{output:?}");
    let output = ran(&["run", "app.py"], Some(&|_, _| Err("there is no such program".into())));
    let missing = "python3: there is no such program; name a Python with --python, such as --python venv/bin/python";
    assert!(output.err.contains(missing) && output.code == 2, "{output:?}");
    let output = ran(&["run", "app.py"], None);
    assert!(output.err.contains("this package of holdoff cannot start a program") && output.code == 2, "{output:?}");
}
