//! Compiles the client in C.

fn main() {
    println!("cargo::rerun-if-changed=curl.c");
    #[cfg(feature = "curl")]
    {
        cc::Build::new()
            .file("curl.c")
            .include("../../../bindings-c/include")
            .warnings_into_errors(true)
            .compile("curl_client");
        println!("cargo::rustc-link-lib=curl");
    }
}
