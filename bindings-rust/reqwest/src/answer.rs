//! The body of an answer, read within the attempt.

use futures_util::{StreamExt as _, stream};
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use reqwest::{Body, Response, ResponseBuilderExt as _};
use reqwest_middleware::Error;

/// Reads the body if it is at most `limit` bytes long: by its length, or as JSON, which often has none. A longer body of JSON comes out
/// after its beginning was read.
pub(crate) async fn read(mut response: Response, limit: usize) -> Result<Response, Error> {
    let fits = match response.content_length() {
        Some(length) => length <= limit as u64,
        None => response.headers().get(CONTENT_TYPE).is_some_and(is_json),
    };
    if !fits || limit == 0 {
        return Ok(response);
    }
    let mut builder =
        http::Response::builder().status(response.status()).version(response.version()).url(response.url().clone());
    builder.headers_mut().into_iter().for_each(|headers| headers.clone_from(response.headers()));
    builder.extensions_mut().into_iter().for_each(|all| all.extend(response.extensions().clone()));
    let mut read = Vec::new();
    let body = loop {
        match response.chunk().await? {
            Some(chunk) => read.extend_from_slice(&chunk),
            None => break Body::from(read),
        }
        if read.len() > limit {
            break Body::wrap_stream(stream::iter([Ok(read.into())]).chain(response.bytes_stream()));
        }
    };
    builder.body(body).map(Response::from).map_err(Error::middleware)
}

fn is_json(kind: &HeaderValue) -> bool {
    let kind = kind.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    kind.eq_ignore_ascii_case(b"application/json")
}
