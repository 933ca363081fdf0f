//! The tests of the conformance crate: one program, because each program more is a minute of linking and building.

mod catalogue;
mod clients;
mod entries_forms;
mod forms;
mod linear;
mod names;
mod peers_forms;
mod policy_page;
mod rules;
mod schema;
mod sizes;
mod vectors;
mod version;

#[test]
fn every_file_of_this_folder_is_a_module_here() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(
            name == "main" || include_str!("main.rs").contains(&format!("\nmod {name};\n")),
            "{} is in no program: add `mod {name};` to tests/tests/main.rs",
            path.display()
        );
    }
}
