//! Linker settings that belong to the module, so that each build has them.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32") {
        // Guards and policies need more than 16 KiB of stack, other systems' forms more than 64, one call hardly any; the default is
        // a megabyte, which every page would pay for. The stack comes first, so that below it the addresses of everything else have
        // fewer digits.
        let feature = |name: &str| std::env::var(format!("CARGO_FEATURE_{name}")).is_ok();
        let size = if feature("POLICIES") {
            16384
        } else if feature("HOT") && !feature("GUARDS") {
            8192
        } else if feature("CLI") {
            1 << 20
        } else if feature("TOOLS") {
            262_144
        } else {
            65536
        };
        println!("cargo:rustc-link-arg-cdylib=-zstack-size={size}");
        // Addresses that the linker fills in take as few bytes as they need, and not five each.
        println!("cargo:rustc-link-arg-cdylib=--compress-relocations");
    }
}
