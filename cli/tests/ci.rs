//! What runs a scan in other programs: the steps of the GitHub action and the hook of pre-commit, as a shell runs them.
#![cfg(unix)]

#[allow(dead_code, reason = "each test has its own part")]
mod common;

use common::{folder, program, put, text};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A policy with one warning, `no_jitter`.
const FIXED: &str = "{\n  \"attempts\": 3,\n  \"jitter\": \"none\"\n}\n";

/// A file of the repository's root.
fn root(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)).unwrap()
}

/// The values of a field in a file of YAML with a value in each line.
fn values<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    text.lines().filter_map(|line| line.trim_start_matches([' ', '-']).strip_prefix(name)?.strip_prefix(": ")).collect()
}

/// A folder for the search path with a program in it.
fn with_program(folder: &Path, name: &str, script: &str) -> PathBuf {
    let bin = folder.join(".bin");
    put(folder, &format!(".bin/{name}"), script);
    fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    bin
}

/// Runs a line as GitHub runs the steps of an action in bash.
fn bash(line: &str, folder: &Path, bin: &Path, variables: &[(&str, &str)]) -> Output {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(bin.to_owned()).chain(std::env::split_paths(&path))).unwrap();
    let mut bash = Command::new("bash");
    bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", line]).current_dir(folder).env("PATH", path);
    bash.env("COLUMNS", "300").envs(variables.iter().copied()).output().unwrap()
}

#[test]
fn the_action_shows_findings_beside_their_lines() {
    let action = root("action.yml");
    let [line] = values(&action, "run")[..] else { panic!("{action}") };
    let folder = folder("action");
    put(&folder, "deploy/a.retry.json", FIXED);
    put(&folder, "other/b.retry.json", FIXED);
    // The package is not published: a program in its place runs the one that is tested.
    let npx = format!(
        "#!/bin/sh\n[ \"$1 $2\" = '--yes holdoff' ] || exit 9\nshift 2\nexec '{}' \"$@\"\n",
        program().display()
    );
    let bin = with_program(&folder, "npx", &npx);
    let ran = |options: &str, paths: &str| {
        let output = bash(line, &folder, &bin, &[("OPTIONS", options), ("PATHS", paths)]);
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    // What an action gives its steps if a workflow says nothing else.
    let usual = ["options: { description: Options such as --fail-on error, default: \"\" }", "default: . }"];
    assert!(usual.iter().all(|input| action.contains(input)), "{action}");
    let (code, out, err) = ran("", ".");
    assert!(code == Some(1) && out.lines().count() == 2, "{out}{err}");
    assert!(
        out.starts_with("::warning file=deploy/a.retry.json,line=3,col=3,title=holdoff 303 no_jitter::"),
        "{out}{err}"
    );
    let (code, out, _) = ran("--fail-on error", "deploy other/b.retry.json");
    assert!(code == Some(0) && out.lines().count() == 2, "{out}");
    assert_eq!(ran("--allow no_jitter", "deploy").0, Some(0));
    assert_eq!(ran("", "missing").0, Some(2));
}

#[test]
fn the_hook_of_pre_commit_fails_for_a_finding() {
    let hooks = root(".pre-commit-hooks.yaml");
    let [entry] = values(&hooks, "entry")[..] else { panic!("{hooks}") };
    let folder = folder("hook");
    let bin = with_program(&folder, "holdoff", &format!("#!/bin/sh\nexec '{}' \"$@\"\n", program().display()));
    put(&folder, "a.retry.json", FIXED);
    let output = bash(entry, &folder, &bin, &[]);
    assert!(output.status.code() == Some(1) && text(&output.stdout).contains("--> a.retry.json:3:3"), "{output:?}");
    put(&folder, "a.retry.json", "{\"attempts\": 3}");
    assert_eq!(bash(entry, &folder, &bin, &[]).status.code(), Some(0));
}
