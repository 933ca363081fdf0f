//! Writes a tree of files to measure a scan of: `cargo run -p holdoff-cli --example tree -- FOLDER COUNT`.
//!
//! Of 20 files, 6 have the retries of a system each, 4 speak of retries and have none, and 10 are other configuration. All have names
//! of files that a scan reads.

use std::fs;
use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [folder, count] => put(Path::new(folder), count.parse().map_err(io::Error::other)?),
        _ => Err(io::Error::other("FOLDER COUNT")),
    }
}

/// Writes so many files into a folder.
pub(crate) fn put(folder: &Path, count: usize) -> io::Result<()> {
    (0..count).map(file).try_for_each(|(name, text)| write(folder, &name, &text))
}

/// Writes a file and the folders around it.
pub(crate) fn write(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap_or(folder))?;
    fs::write(path, text)
}

/// The name and the text of a file, by its number.
pub(crate) fn file(number: usize) -> (String, String) {
    let (group, seconds) = (number / 20, number % 7 + 1);
    let service = format!("service{group}");
    let (name, text) = match number % 20 {
        0 => (
            "deploy/route.yaml",
            format!(
                "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {{ name: {service} }}\nspec:\n  \
                 hosts: [{service}]\n  http:\n    - route: [{{ destination: {{ host: {service} }} }}]\n      timeout: 8s\n      \
                 retries: {{ attempts: {seconds}, perTryTimeout: 3s, retryOn: 5xx }}\n"
            ),
        ),
        1 => (
            "src/main/resources/application.yml",
            format!(
                "resilience4j:\n  retry:\n    configs:\n      default: {{ maxAttempts: {seconds}, waitDuration: 500ms }}\n    \
                 instances:\n      {service}: {{ exponentialBackoffMultiplier: 2 }}\n      other: {{ baseConfig: default }}\n"
            ),
        ),
        2 => (
            "workflow.asl.json",
            format!(
                "{{\"StartAt\": \"Call\", \"States\": {{\"Call\": {{\"Type\": \"Task\", \"Resource\": \"arn:aws:states:::x\", \
                 \"Retry\": [\n  {{\"ErrorEquals\": [\"States.ALL\"], \"IntervalSeconds\": {seconds}, \"BackoffRate\": 3, \
                 \"MaxAttempts\": 8}}\n], \"End\": true}}}}}}"
            ),
        ),
        3 => (
            "grpc.json",
            format!(
                "{{\"methodConfig\": [{{\"name\": [{{\"service\": \"{service}\"}}], \"retryPolicy\": {{\"maxAttempts\": 4, \
                 \"initialBackoff\": \"{seconds}s\", \"maxBackoff\": \"10s\", \"backoffMultiplier\": 2,\n\
                 \"retryableStatusCodes\": [\"UNAVAILABLE\", \"INVALID_ARGUMENT\"]}}}}]}}"
            ),
        ),
        4 => (
            "calls.retry.json",
            format!("{{\n  \"attempts\": 1{seconds},\n  \"jitter\": \"none\",\n  \"deadline\": \"9s\"\n}}\n"),
        ),
        5 => (
            "appsettings.json",
            format!(
                "{{ // standard handler\n\"Http\": {{\"Retry\": {{\"MaxRetryAttempts\": {seconds}, \"Delay\": \"00:00:02\", \
                 \"BackoffType\": \"Exponential\", \"UseJitter\": false}}}}}}"
            ),
        ),
        6 | 7 => (
            "values.yaml",
            format!("# retries are switched off\nretries: {seconds}\nbackoff: fast\nimage: {service}\n"),
        ),
        8 => ("broken.json", "{\"retry\": {\"attempts\": 3".to_owned()),
        9 => ("templates/retry.yaml", format!("retries:\n  attempts: {{{{ .Values.{service}.attempts }}}}\n")),
        _ => ("config/settings.yaml", settings(&service)),
    };
    (format!("{service}/{number}/{name}"), text)
}

/// Two kilobytes of configuration.
fn settings(service: &str) -> String {
    let line = |index| format!("  - name: VARIABLE_{index}\n    value: \"{service} and more\"\n");
    format!("image: {service}\nenv:\n{}", (0..40).map(line).collect::<String>())
}
