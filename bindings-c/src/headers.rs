//! Headers of an HTTP answer that say when to retry.

use crate::*;

extern_c! {
    /// The headers of an HTTP answer that say when to retry: 256 bytes, whatever their number. The content is the
    /// library's.
    ///
    /// Read are, in the order in which they count, grpc-retry-pushback-ms, retry-after-ms, x-ms-retry-after-ms, Retry-After
    /// (seconds and dates), x-amz-retry-after, and the RateLimit-Reset family. Any other header may be given as well.
    memory holdoff_headers([u64; 31]) as headers holds HintReader, b"hoHeads1", NotACall;

    /// Begins with the headers of one answer, which came at `wall`: nanoseconds since 1970 by the clock on the wall,
    /// HOLDOFF_NEVER if it is not known. A date counts from the answer's own Date, else from `wall`; without both it says
    /// nothing.
    ///
    /// Returns 0, or HOLDOFF_ERROR_NULL_POINTER.
    init holdoff_headers_begin(wall: u64) = HintReader::new(wall);

    /// Takes one header: its name in any case, and its value. A header that says nothing about retrying changes nothing.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_CALL.
    get_mut holdoff_headers_add(name: *const c_char, value: *const c_char) = {
        let (name, value) = c_bytes(name).zip(c_bytes(value)).ok_or(ErrorCode::NullPointer)?;
        headers.header(name, value);
    };

    /// Takes one header line of `length` bytes as it came over the wire, "Retry-After: 5\r\n", which is what libcurl's
    /// CURLOPT_HEADERFUNCTION hands over. A line without a colon (a status line, the empty one) changes nothing.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_CALL.
    get_mut holdoff_headers_add_line(line: *const c_char, length) = {
        let mut parts = slice(line, length)?.splitn(2, |byte| *byte == b':');
        if let (Some(name), Some(value)) = (parts.next(), parts.next()) {
            headers.header(name.trim_ascii(), value);
        }
    };

    /// Returns the hint in the headers of an answer with this HTTP status; give 0 if the status is not known.
    ///
    /// Returns HOLDOFF_HINT_NONE, HOLDOFF_HINT_NEVER, or HOLDOFF_HINT_AFTER and writes how long from now to `ns` (which may
    /// be NULL); 0 nanoseconds with the first two. For memory without headers HOLDOFF_HINT_NONE.
    fn holdoff_headers_hint(headers: *const holdoff_headers, status: u32, ns: *mut Span) -> u32 = {
        let (hint, hint_ns) = raw_hint(hint_of(headers, status));
        write(ns, span(hint_ns));
        hint
    };

    /// Returns the header x-should-retry, for `should_retry` of holdoff_facts: 1 for "true", 2 for "false", 0 without the
    /// header, for any other value, and for memory without headers.
    fn holdoff_headers_should_retry(headers: *const holdoff_headers) -> u8 = get(headers).map_or(0, HintReader::should_retry);

    /// Classifies an HTTP answer with all its headers: holdoff_failure_from_http with what they say as the hint. `headers`
    /// may be NULL.
    ///
    /// Returns whether the status is a failure. If it is, it is written to `failure` (which may be NULL); a status from 100
    /// to 399 is none, and writes nothing.
    fn holdoff_failure_from_headers(status: u32, headers: *const holdoff_headers, failure: *mut holdoff_failure) -> bool =
        write_some(failure, Failure::of_answer(status, hint_of(headers, status)).map(holdoff_failure::from));

    /// Classifies a call of libcurl: its CURLcode, the status of its answer (CURLINFO_RESPONSE_CODE; 0 without an answer), and the
    /// headers of that answer, or NULL. A status from 400 on counts as holdoff_failure_from_headers says; any other call
    /// that did not end with CURLE_OK counts by its code. Certificates, addresses, redirects and bodies that no further attempt
    /// mends are permanent, and so is a call that its own callback has aborted. CURLE_OPERATION_TIMEDOUT is a timeout, and every other
    /// code is transient.
    ///
    /// Returns whether the call failed. If it did, the failure is written to `failure` (which may be NULL).
    fn holdoff_failure_from_curl(
        code: u32,
        status: u32,
        headers: *const holdoff_headers,
        failure: *mut holdoff_failure
    ) -> bool = {
        let by_code = || match Clues::of_curl(code) {
            clues if clues.is_cancelled() => Failure::PERMANENT,
            clues => clues.kind().map_or(Failure::TRANSIENT, Failure::new),
        };
        let failed = match status {
            400.. => Failure::of_answer(status, hint_of(headers, status)),
            _ if code == 0 => None,
            _ => Some(by_code()),
        };
        write_some(failure, failed.map(holdoff_failure::from))
    };

    /// Tells whether the code of a libcurl call alone says that the request was never sent, for `unsent` of holdoff_facts. A
    /// request was not sent either if CURLINFO_PRETRANSFER_TIME_T is 0, as after a timeout while libcurl was connecting.
    fn holdoff_curl_is_unsent(code: u32) -> bool = Clues::of_curl(code).is_unsent();
}

unsafe fn hint_of(headers: *const holdoff_headers, status: u32) -> Hint {
    // SAFETY: the header's promise.
    unsafe { get(headers) }.map_or(Hint::NONE, |headers| headers.hint_for(status))
}
