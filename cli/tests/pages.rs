//! Runs every command of the guide and of the pages of cases, and compares what it prints. `TRYCMD=overwrite` writes it down.
//!
//! `HOLDOFF` names another program to run: the package of Node.js and that of Python are the same program.

#[test]
fn the_commands_print_what_the_pages_say() {
    let cases = trycmd::TestCases::new();
    if let Some(program) = std::env::var_os("HOLDOFF") {
        cases.register_bin("holdoff", std::path::PathBuf::from(program));
    }
    cases.case("tests/cases/*.md").case("../docs/cli.md").case("../docs/tasks/scan.md");
}
