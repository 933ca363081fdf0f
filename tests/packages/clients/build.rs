//! Compiles the client in C.

fn main() {
    for file in ["curl.c", "curl_front.c", "../../../bindings-c/include"] {
        println!("cargo::rerun-if-changed={file}");
    }
    #[cfg(feature = "curl")]
    {
        let compile = |build: &mut cc::Build, standard: &str, file: &str, library: &str| {
            build.std(standard).file(file).include("../../../bindings-c/include");
            build.extra_warnings(true).flag("-Wpedantic").warnings_into_errors(true).compile(library);
        };
        compile(&mut cc::Build::new(), "gnu11", "curl.c", "curl_client");
        compile(&mut cc::Build::new(), "c11", "curl_front.c", "curl_front");
        // The header is one of C++, too.
        compile(cc::Build::new().cpp(true).cpp_link_stdlib(None), "c++17", "curl_front.c", "curl_front_cpp");
        println!("cargo::rustc-link-lib=curl");
    }
}
