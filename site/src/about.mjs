// What the site says about holdoff in one sentence.
export const DESCRIPTION = "Retries for JavaScript, Python, C and Rust that end on time, and do not keep a server down.";
