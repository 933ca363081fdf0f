//! The meaning of the errors of well-known clients: one table of the names of their classes, their codes and phrases of their
//! messages. Other languages get it printed (`cargo xtask generate`), so that all of them judge alike (spec 8.15 to 8.18).
//!
//! Classes are known by their names, because no client is loaded in order to judge its errors, and many clients share the names of
//! their errors. `tests/clients` plays the table with the clients themselves.

use crate::decide::failure::{Failure, FailureKind};

/// The errors that mean one thing. An error may be in several lists.
#[derive(Clone, Copy, Debug)]
pub struct ClientErrors {
    /// Their meaning.
    pub means: Clues,
    /// Names of classes, codes, SQLSTATEs and system calls, separated by white space. A `*` stands for any text, and a `?` for one
    /// character.
    pub names: &'static str,
    /// The same for names that only Python has. Pages do without them: each byte of the smallest module counts.
    pub python_names: &'static str,
    /// Parts of messages, where neither a class nor a code says it; separated by `|`.
    pub messages: &'static str,
    /// The same for messages that only Python has.
    pub python_messages: &'static str,
    /// The same for Rust, whose errors have no names: parts of their `Display`.
    pub rust_messages: &'static str,
}

/// The table.
pub const CLIENT_ERRORS: [ClientErrors; 6] = [
    // No connection was made, or the server says that it has not begun the request.
    ClientErrors {
        means: Clues::UNSENT,
        names: "
            ConnectionRefused* ConnectTimeout* ConnectionTimeout*
            ECONNREFUSED ENOTFOUND EAI_* EHOSTUNREACH ENETUNREACH EHOSTDOWN ENETDOWN EADDRNOTAVAIL
            UND_ERR_CONNECT_TIMEOUT ERR_SOCKET_CONNECTION_TIMEOUT ERR_HTTP2_GOAWAY_SESSION
            connect getaddrinfo 08001 53300 57P03
        ",
        python_names: "
            ConnectError gaierror NewConnectionError NameResolutionError ClientConnectorError ClientProxyConnectionError
            ClientHttpProxyError EndpointConnectionError *ProxyError ProxyConnectionError PoolTimeout EmptyPoolError PoolError
            TooManyConnectionsError CannotConnectNowError
        ",
        messages: "before secure TLS|awaiting 'connect'|Proxy response (|REFUSED_STREAM",
        python_messages: "Tunnel connection failed|Connection refused|error_code:7,|last_stream_id:0,",
        rust_messages: "(Connect)|failed to lookup address|host not found|connection failed|Connection refused|No route to host|\
            Network is unreachable|timeout: connect|timeout: resolve|CONNECT proxy failed|refused stream",
    },
    ClientErrors {
        means: Clues::TIMEOUT,
        names: "*Timeout *TimeoutE* *TimedOut *_TIMEOUT *TIMEDOUT 57014",
        python_names: "",
        messages: "timed out|imeout of |timeout ex",
        python_messages: "",
        rust_messages: "timeout: |Timeout expired|deadline has elapsed",
    },
    ClientErrors {
        means: Clues::CANCELLED,
        names: "*AbortError Cancel* ABORTED",
        python_names: "",
        messages: "",
        python_messages: "",
        rust_messages: "",
    },
    ClientErrors {
        means: Clues::PERMANENT,
        names: "
            CERT_* DEPTH_ZERO_* SELF_SIGNED_* UNABLE_TO_* HOSTNAME_MISMATCH ERR_TLS_* ERR_SSL_*
            UnsupportedProtocol* *_REDIRECTS
            ERR_INVALID_* ERR_UNSUPPORTED_* ERR_UNESCAPED_* ERR_BAD_OPTION* UND_ERR_INVALID_* UND_ERR_NOT_SUPPORTED
            UND_ERR_HEADERS_OVERFLOW UND_ERR_REQ_CONTENT_LENGTH_MISMATCH UND_ERR_CLOSED UND_ERR_DESTROYED
            ERR_BODY_PARSE_FAILURE Z_DATA_ERROR
            NotSupportedError *ValidationError *AuthenticationError
            0A000 22??? 23??? 28??? 3D000 42??? SQLITE_CONSTRAINT*
            EAUTH ENOENT EEXIST EISDIR ENOTDIR EACCES EPERM
        ",
        python_names: "
            *CertificateError SSLCertVerificationError
            InvalidURL InvalidProxyURL InvalidHeader *Schema URLSchemeUnknown LocationParseError LocationValueError
            LocalProtocolError TooManyRedirects
            *DecodingError DecodeError ContentEncodingError ContentTypeError JSONDecodeError
            StreamConsumed* UnrewindableBodyError CookieConflict* *CredentialsError NoRegionError
            Integrity*Error ProgrammingError DataError *DoesNotExist MultipleObjectsReturned NoResultFound
            MultipleResultsFound Http404 PermissionDenied SuspiciousOperation ImproperlyConfigured FieldError
            SMTPNotSupportedError
        ",
        messages: "unknown scheme|nsupported protocol|bad port|redirect count exceeded|too many redirects|WRONGTYPE|WRONGPASS|NOAUTH|NOPERM",
        python_messages: "unknown url type|no host given|infinite loop|password authentication failed",
        rust_messages: "certificate|builder error|URL scheme is not allowed|relative URL without a base|bad uri|invalid URL|\
            invalid gzip header|decompression|scheme is not http|invalid authority|invalid uri character|invalid port number",
    },
    // Codes of AWS, which come with status 400, too.
    ClientErrors {
        means: Clues::THROTTLED,
        names: "*Throttl* TooManyRequests* RequestLimitExceeded BandwidthLimitExceeded LimitExceededException
            ProvisionedThroughputExceeded* SlowDown PriorRequestNotComplete TransactionInProgressException RateLimit*",
        python_names: "",
        messages: "",
        python_messages: "",
        rust_messages: "",
    },
    // Codes of providers of language models, which come with status 429.
    ClientErrors {
        means: Clues::SPENT,
        names: "insufficient_quota billing_hard_limit_reached",
        python_names: "",
        messages: "",
        python_messages: "",
        rust_messages: "",
    },
];

/// The meanings of an error and of its causes, put together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Clues(u8);

impl Clues {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// The request was never sent.
    pub const UNSENT: Self = Self(1);
    /// There was no answer in time.
    pub const TIMEOUT: Self = Self(2);
    /// The caller wants no answer any more.
    pub const CANCELLED: Self = Self(4);
    /// The next attempt would fail, too.
    pub const PERMANENT: Self = Self(8);
    /// The server asks for less.
    pub const THROTTLED: Self = Self(16);
    /// What the account has paid for is used up: no wait helps, whatever the status.
    pub const SPENT: Self = Self(32);

    /// Looks up the name of a class, a code, an SQLSTATE or a system call.
    pub fn of_name(name: &str) -> Self {
        let has = |names: &str| names.split_ascii_whitespace().any(|pattern| matches(pattern, name));
        Self::all(|list| has(list.names) || has(list.python_names))
    }

    /// Looks for the known parts of messages in a message of any language but Rust.
    pub fn of_message(message: &str) -> Self {
        Self::all(|list| has(list.messages, message) || has(list.python_messages, message))
    }

    /// Looks up the code of a libcurl call, by its number in `curl.h` (spec 8.18).
    pub const fn of_curl(code: u32) -> Self {
        match code {
            // CURLE_COULDNT_RESOLVE_PROXY, _RESOLVE_HOST, _CONNECT, _SSL_CONNECT_ERROR, _QUIC_CONNECT_ERROR, _PROXY
            5 | 6 | 7 | 35 | 96 | 97 => Self::UNSENT,
            // CURLE_OPERATION_TIMEDOUT
            28 => Self::TIMEOUT,
            // CURLE_ABORTED_BY_CALLBACK
            42 => Self::CANCELLED,
            // CURLE_UNSUPPORTED_PROTOCOL, _FAILED_INIT, _URL_MALFORMAT, _NOT_BUILT_IN
            1..=4
            // CURLE_REMOTE_ACCESS_DENIED, _WRITE_ERROR, _READ_ERROR, _OUT_OF_MEMORY, _RANGE_ERROR, _BAD_DOWNLOAD_RESUME, _FILE_COULDNT_READ_FILE
            | 9 | 23 | 26 | 27 | 33 | 36 | 37
            // CURLE_FUNCTION_NOT_FOUND, _BAD_FUNCTION_ARGUMENT, _INTERFACE_FAILED, _TOO_MANY_REDIRECTS, _UNKNOWN_OPTION, _SETOPT_OPTION_SYNTAX
            | 41 | 43 | 45 | 47 | 48 | 49
            // CURLE_SSL_ENGINE_NOTFOUND, _SETFAILED, _SSL_CERTPROBLEM, _CIPHER, _PEER_FAILED_VERIFICATION, _BAD_CONTENT_ENCODING
            | 53 | 54 | 58..=61
            // CURLE_FILESIZE_EXCEEDED, _USE_SSL_FAILED, _SEND_FAIL_REWIND, _SSL_ENGINE_INITFAILED, _LOGIN_DENIED
            | 63..=67
            // CURLE_SSL_CACERT_BADFILE, _REMOTE_FILE_NOT_FOUND, _SSL_CRL_BADFILE, _SSL_ISSUER_ERROR
            | 77 | 78 | 82 | 83
            // CURLE_SSL_PINNEDPUBKEYNOTMATCH, _SSL_INVALIDCERTSTATUS, _AUTH_ERROR, _SSL_CLIENTCERT, _TOO_LARGE
            | 90 | 91 | 94 | 98 | 100 => Self::PERMANENT,
            _ => Self::NONE,
        }
    }

    /// Looks for the known parts of messages in the `Display` of a Rust error.
    pub fn of_display(message: &str) -> Self {
        Self::all(|list| has(list.rust_messages, message) || has(list.messages, message))
    }

    fn all(holds: impl Fn(&ClientErrors) -> bool) -> Self {
        CLIENT_ERRORS.iter().filter(|list| holds(list)).fold(Self::NONE, |all, list| all.and(list.means))
    }

    /// Both of them: an error and its cause.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// One of several errors that are causes together. The request is unsent only if all of them say so.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self((self.0 | other.0) & !(Self::UNSENT.0) | self.0 & other.0)
    }

    /// True if it has these.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// True if the request was never sent.
    pub const fn is_unsent(self) -> bool {
        self.has(Self::UNSENT)
    }

    /// True if the caller has cancelled. A timeout is a signal's, too, where it ends what waits for it (spec 8.16).
    pub const fn is_cancelled(self) -> bool {
        self.has(Self::CANCELLED) && !self.has(Self::TIMEOUT) && !self.has(Self::UNSENT)
    }

    /// The kind of an error without an answer; none for a cancellation, and where nothing is known, which is transient (spec 8.16).
    pub const fn kind(self) -> Option<FailureKind> {
        match () {
            () if self.has(Self::TIMEOUT) => Some(FailureKind::Timeout),
            () if self.is_cancelled() => None,
            () if self.has(Self::PERMANENT) || self.has(Self::SPENT) => Some(FailureKind::Permanent),
            () if self.has(Self::THROTTLED) => Some(FailureKind::Throttled),
            () if self.has(Self::UNSENT) => Some(FailureKind::Transient),
            () => None,
        }
    }

    /// The failure of an answer after the codes that came with it: a spent quota and throttling count whatever the status, and a timeout
    /// where the status is permanent (spec 8.17).
    #[must_use]
    pub const fn of_answer(self, failure: Failure) -> Failure {
        let kind = match failure.kind {
            _ if self.has(Self::SPENT) => FailureKind::Permanent,
            _ if self.has(Self::THROTTLED) => FailureKind::Throttled,
            FailureKind::Permanent if self.has(Self::TIMEOUT) => FailureKind::Timeout,
            kind => kind,
        };
        Failure { kind, ..failure }
    }
}

/// True if a text has one of the phrases.
fn has(phrases: &str, text: &str) -> bool {
    phrases.split('|').any(|phrase| !phrase.is_empty() && text.contains(phrase))
}

/// True if a pattern stands for the whole name.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, end)) = pattern.split_once('*') else {
        let same = |(one, other): (u8, u8)| one == b'?' || one == other;
        return pattern.len() == name.len() && pattern.bytes().zip(name.bytes()).all(same);
    };
    match end.split_once('*') {
        // At both ends.
        Some((middle, _)) => name.contains(middle),
        None => name.len() >= start.len().saturating_add(end.len()) && name.starts_with(start) && name.ends_with(end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(names: &[&str]) -> Option<FailureKind> {
        names.iter().fold(Clues::NONE, |all, name| all.and(Clues::of_name(name))).kind()
    }

    #[test]
    fn an_error_is_known_by_its_names_and_those_of_its_causes() {
        use FailureKind::{Permanent, Throttled, Timeout, Transient};
        for (names, expected) in [
            (&["ConnectError", "OSError"][..], Some(Transient)),
            (&["ConnectError", "SSLCertVerificationError"], Some(Permanent)),
            (&["TypeError", "ConnectTimeoutError", "UND_ERR_CONNECT_TIMEOUT"], Some(Timeout)),
            (&["AbortError", "TimeoutError"], Some(Timeout)),
            (&["FetchError", "AbortError"], None),
            (&["APIUserAbortError"], None),
            (&["ThrottlingException"], Some(Throttled)),
            (&["23505"], Some(Permanent)),
            (&["40001"], None),
            (&["429"], None),
            (&["UND_ERR_HEADERS_TIMEOUT"], Some(Timeout)),
            (&["ERR_FR_TOO_MANY_REDIRECTS"], Some(Permanent)),
            (&["RemoteProtocolError"], None),
            (&["ContentTooShortError"], None),
            (&["ECONNABORTED"], None),
            (&["Error"], None),
            (&[""], None),
        ] {
            assert_eq!(kind(names), expected, "{names:?}");
        }
        assert!(Clues::of_name("APIUserAbortError").is_cancelled());
        assert!(!Clues::of_name("AbortError").and(Clues::of_name("TimeoutError")).is_cancelled());
        assert!(Clues::of_name("UND_ERR_CONNECT_TIMEOUT").is_unsent());
        assert!(Clues::of_message("Stream closed with error code NGHTTP2_REFUSED_STREAM").is_unsent());
        // undici calls a proxy that refuses an abort.
        let refused = Clues::of_name("UND_ERR_ABORTED").and(Clues::of_message("Proxy response (502) !== 200"));
        assert_eq!((refused.is_cancelled(), refused.kind()), (false, Some(Transient)));
    }

    #[test]
    fn several_causes_are_unsent_only_together() {
        let (refused, lost) = (Clues::of_name("ECONNREFUSED"), Clues::of_name("ECONNRESET"));
        assert!(refused.or(refused).is_unsent());
        assert!(!refused.or(lost).is_unsent() && !lost.or(refused).is_unsent());
        assert_eq!(lost.or(Clues::PERMANENT), Clues::PERMANENT);
    }

    #[test]
    fn codes_beside_an_answer_count_whatever_its_status() {
        let throttled = Clues::of_name("ProvisionedThroughputExceededException");
        assert_eq!(throttled.of_answer(Failure::PERMANENT), Failure::THROTTLED);
        let spent = Clues::of_name("RateLimitError").and(Clues::of_name("insufficient_quota"));
        assert_eq!(spent.of_answer(Failure::THROTTLED), Failure::PERMANENT);
        assert_eq!(Clues::of_name("SlowDown").of_answer(Failure::TRANSIENT), Failure::THROTTLED);
        assert_eq!(Clues::of_name("RequestTimeout").of_answer(Failure::PERMANENT), Failure::TIMEOUT);
        assert_eq!(Clues::of_name("RequestTimeout").of_answer(Failure::TRANSIENT), Failure::TRANSIENT);
        assert_eq!(Clues::of_name("ResourceNotFoundException").of_answer(Failure::PERMANENT), Failure::PERMANENT);
    }

    #[test]
    fn curl_codes_are_judged_by_their_numbers() {
        for (code, kind, unsent) in [
            (7, Some(FailureKind::Transient), true),
            (28, Some(FailureKind::Timeout), false),
            (60, Some(FailureKind::Permanent), false),
            (47, Some(FailureKind::Permanent), false),
            (56, None, false),
            (u32::MAX, None, false),
        ] {
            assert_eq!((Clues::of_curl(code).kind(), Clues::of_curl(code).is_unsent()), (kind, unsent), "{code}");
        }
        assert!(Clues::of_curl(42).is_cancelled());
    }

    #[test]
    fn a_pattern_has_one_star_or_one_at_each_end() {
        assert!(
            matches("*Timeout", "Timeout") && matches("*Timeout", "ReadTimeout") && !matches("*Timeout", "Timeouts")
        );
        assert!(matches("EAI_*", "EAI_AGAIN") && !matches("EAI_*", "EAI"));
        assert!(matches("*Throttl*", "EC2ThrottledException") && !matches("*Throttl*", "Throt"));
        assert!(matches("Integrity*Error", "IntegrityError") && !matches("Integrity*Error", "IntegrityErrors"));
        assert!(matches("22???", "22012") && !matches("22???", "2201") && !matches("22???", "220"));
    }
}
