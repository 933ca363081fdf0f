//! Compiles the client in C.

fn main() {
    for file in ["curl.c", "curl_front.c", "../../../bindings-c/include"] {
        println!("cargo::rerun-if-changed={file}");
    }
    #[cfg(feature = "curl")]
    {
        cc::Build::new()
            .files(["curl.c", "curl_front.c"])
            .include("../../../bindings-c/include")
            .warnings_into_errors(true)
            .compile("curl_client");
        println!("cargo::rustc-link-lib=curl");
    }
}
