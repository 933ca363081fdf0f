//! Classification: from an exception or a value to a failure and the server's hint.

use crate::convert::optional;
use crate::coroutine::{close, is_coroutine};
use crate::failure::Failure;
use crate::on::{On, OnResult};
use crate::retrying::Retrying;
use crate::{clock, convert, hints};
use holdoff_core::{Clues, Document, Facts, Failure as Kind, FailureKind, GrpcCode, Hint, HintReader, TextList};
use pyo3::exceptions::{
    PyConnectionAbortedError, PyConnectionError, PyConnectionRefusedError, PyConnectionResetError, PyException,
    PyOSError, PyRuntimeError, PyTimeoutError, PyTypeError,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyString, PyType};
use std::sync::atomic::{AtomicBool, Ordering};

/// The default classification of an error.
struct Known {
    failure: Kind,
    /// The HTTP status, the gRPC code and `x-should-retry`.
    facts: Facts,
}

impl Known {
    const fn of(failure: Kind) -> Self {
        Self { failure, facts: Facts::NONE }
    }
}

/// The judgement of an error.
pub(crate) enum Judged {
    Failure(Kind),
    /// A fault of the caller's own program: permanent, and not counted by guards.
    Fault,
    /// No failure: the error comes out as if there was no retry.
    ControlFlow,
}

impl Judged {
    pub(crate) const fn failure(&self) -> Option<Kind> {
        if let Self::Failure(failure) = self { Some(*failure) } else { None }
    }

    /// The judgement of a group of errors: no retry of one error is no retry of all, and the longest hint counts.
    fn and(self, other: Self) -> Self {
        let (Self::Failure(one), Self::Failure(two)) = (&self, &other) else {
            return if matches!(self, Self::ControlFlow) || other.failure().is_some() { self } else { other };
        };
        let rank = |failure: &Kind| match failure.kind {
            FailureKind::Permanent => 3,
            FailureKind::Throttled => 2,
            FailureKind::Timeout => 1,
            _ => 0,
        };
        // One more than the raw hint is nothing, a time, never.
        let hint = [one.hint, two.hint].into_iter().max_by_key(|hint| hint.as_raw().wrapping_add(1));
        let longer = if rank(two) > rank(one) { two } else { one };
        Self::Failure(longer.with_hint(hint.unwrap_or(one.hint)))
    }
}

/// True once a built-in class is registered in `holdoff.classifiers`.
static BUILT_IN_REGISTERED: AtomicBool = AtomicBool::new(false);

functions! { py;
    /// From now on, plain built-in errors are looked up in `holdoff.classifiers`, too.
    fn classify_built_in() = BUILT_IN_REGISTERED.store(true, Ordering::Relaxed);
}

/// The answer of `holdoff.classifiers` for an error.
enum Registered {
    ControlFlow,
    Group,
    Failure(Kind),
    Unknown,
}

fn registered(error: &Bound<'_, PyAny>, on: &On) -> PyResult<Registered> {
    let py = error.py();
    let types = if let On::Types(types) = on { Some(types) } else { None };
    let found = imported!(py, "holdoff.classifiers", "find")?.call1((error, types))?;
    if found.is_none() {
        return Ok(Registered::Unknown);
    }
    match found.cast::<PyString>().ok().and_then(|word| word.to_cow().ok()).as_deref() {
        Some("control_flow") => Ok(Registered::ControlFlow),
        Some("group") => Ok(Registered::Group),
        _ => failure_from(&found, "classifier").map(Registered::Failure),
    }
}

/// The failure that this error is. The user's functions decide first; then the registered classes, the default classification
/// and the policy's own rules. An attempt that was aborted at its limit is always a timeout.
pub(crate) fn classify(error: &Bound<'_, PyAny>, timed_out: bool, settings: &Retrying) -> PyResult<Judged> {
    let py = error.py();
    let policy = settings.policy.get();
    let judged = |known: Known| {
        let facts = Facts { idempotent: settings.idempotent, ..known.facts };
        if policy.rules || !facts.idempotent || facts.should_retry != 0 {
            error_judged(error, &policy.document, facts, known.failure)
        } else {
            Ok(known.failure)
        }
    };
    if timed_out {
        return judged(Known::of(Kind::TIMEOUT)).map(Judged::Failure);
    }
    let plain = builtin_failure(error).filter(|_| {
        !BUILT_IN_REGISTERED.load(Ordering::Relaxed)
            && optional(error, intern!(py, "__cause__")).is_ok_and(|cause| cause.is_none())
    });
    let answer = if plain.is_some() { Registered::Unknown } else { registered(error, &settings.on)? };
    if matches!(answer, Registered::ControlFlow) {
        return Ok(Judged::ControlFlow);
    }
    let mut asked_for = false;
    // Not to be retried says nothing yet of whose fault it is.
    let unwanted = || {
        let fault = error.is_instance(programming_errors(py)?)?;
        Ok(if fault { Judged::Fault } else { Judged::Failure(Kind::PERMANENT) })
    };
    match &settings.on {
        On::Types(types) if !matches!(answer, Registered::Group) && !error.is_instance(types.bind(py))? => {
            return unwanted();
        }
        On::Default | On::Types(_) => {}
        On::Predicate(predicate) => {
            let answer = predicate.bind(py).call1((error,))?;
            match answer.cast::<PyBool>() {
                Ok(yes) if yes.is_true() => asked_for = true,
                Ok(_) => return unwanted(),
                Err(_) => return failure_from(&answer, "on").map(Judged::Failure),
            }
        }
    }
    if let Some(classifier) = &settings.classify {
        let answer = classifier.bind(py).call1((error,))?;
        if !answer.is_none() {
            return failure_from(&answer, "classify").map(Judged::Failure);
        }
    }
    let known = match answer {
        Registered::Group if asked_for => Known::of(Kind::TRANSIENT),
        Registered::Group => return group(error, settings),
        Registered::Failure(failure) => Known::of(failure),
        _ => {
            let refused = &policy.document.error_types;
            match plain.filter(|_| refused.is_empty()) {
                Some(plain) => Known::of(plain),
                None if matches!(settings.on, On::Default) && error.is_instance(programming_errors(py)?)? => {
                    if !policy.document.rules.has_texts(TextList::Types) {
                        return Ok(Judged::Fault);
                    }
                    let facts = Facts { program_fault: true, ..Facts::NONE };
                    let failure = judged(Known { failure: Kind::PERMANENT, facts })?;
                    let retried = failure.kind != FailureKind::Permanent;
                    return Ok(if retried { Judged::Failure(failure) } else { Judged::Fault });
                }
                None if has_class(error, |name| refused.iter().any(|refused| refused == name))? => {
                    return Ok(Judged::Failure(if asked_for { Kind::TRANSIENT } else { Kind::PERMANENT }));
                }
                None => match known(error, &settings.on)? {
                    Some(known) => known,
                    None if asked_for => Known::of(Kind::TRANSIENT),
                    None => return Ok(Judged::ControlFlow),
                },
            }
        }
    };
    let failure = judged(known)?;
    Ok(Judged::Failure(if asked_for { retried(failure) } else { failure }))
}

/// A group of errors is what all of its errors are, those in groups inside it included, however deep they are.
fn group(error: &Bound<'_, PyAny>, settings: &Retrying) -> PyResult<Judged> {
    let mut all = Judged::Failure(Kind::TRANSIENT);
    let mut groups = vec![error.clone()];
    while let Some(error) = groups.pop() {
        for inner in error.getattr(intern!(error.py(), "exceptions"))?.try_iter()? {
            let inner = inner?;
            if matches!(registered(&inner, &settings.on)?, Registered::Group) {
                groups.push(inner);
            } else {
                all = all.and(classify(&inner, false, settings)?);
            }
        }
    }
    Ok(all)
}

/// The failure that a returned value is; none when it is a success. An answer's status and headers count as an error's do.
pub(crate) fn classify_value(value: &Bound<'_, PyAny>, settings: &Retrying) -> PyResult<Option<Kind>> {
    let asked_for = match &settings.on_result {
        None => return Ok(None),
        Some(OnResult::Answers) => false,
        Some(OnResult::Predicate(predicate)) => {
            let answer = predicate.bind(value.py()).call1((value,))?;
            if answer.is_none() {
                return Ok(None);
            }
            match answer.cast::<PyBool>() {
                Ok(yes) if yes.is_true() => true,
                Ok(_) => return Ok(None),
                Err(_) => return failure_from(&answer, "on_result").map(Some),
            }
        }
    };
    let document = &settings.policy.get().document;
    let found = answer(value, true)?;
    let status = found.as_ref().map_or(0, |(status, _)| *status);
    if !asked_for && !document.rules.is_failure(u32::from(status), settings.idempotent) {
        return Ok(None);
    }
    let Known { failure, facts } = match found {
        Some((status, headers)) => of_answer(value.py(), status, headers, Kind::TRANSIENT)?,
        None => Known::of(Kind::TRANSIENT),
    };
    let facts = Facts { idempotent: settings.idempotent, ..facts };
    let failure = judged(document, facts, failure, &[], &[], String::new);
    Ok(Some(if asked_for { retried(failure) } else { failure }))
}

/// A failure that a user's function wants retried is never permanent.
fn retried(failure: Kind) -> Kind {
    if failure.kind == FailureKind::Permanent { Kind { kind: FailureKind::Transient, ..failure } } else { failure }
}

/// The failure after the policy's rules, which override the default classification but not the user's functions. The text of
/// the error is made only if the rules have patterns.
pub(crate) fn judged(
    document: &Document,
    facts: Facts,
    failure: Kind,
    codes: &[String],
    types: &[String],
    message: impl FnOnce() -> String,
) -> Kind {
    let rules = &document.rules;
    let [codes, types] = [codes, types].map(|list| list.iter().map(String::as_str).collect::<Vec<_>>());
    rules.judge(document.texts.facts(rules, facts, &codes, &types, message), failure)
}

/// The same for an error, whose codes and the names of whose classes are looked up only if a rule names any.
fn error_judged(error: &Bound<'_, PyAny>, document: &Document, facts: Facts, failure: Kind) -> PyResult<Kind> {
    let has = |list| document.rules.has_texts(list);
    let asked = (error, has(TextList::Codes), has(TextList::Types));
    let found = imported!(error.py(), "holdoff._facts", "details")?.call1(asked)?;
    let (codes, types): (Vec<Bound<'_, PyAny>>, Vec<String>) = found.extract()?;
    let codes: Vec<String> = codes.iter().filter_map(|code| code.extract().ok()).collect();
    // Only an error that is known by its class alone comes without this fact.
    let answered = facts.http != 0 || facts.grpc != Facts::NONE.grpc;
    let unsent = facts.unsent || !answered && !facts.idempotent && clues(error)?.0.is_unsent();
    let facts = Facts { unsent, ..facts };
    let text = || error.str().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(judged(document, facts, failure, &codes, &types, text))
}

/// True if an error's class or one of its base classes has such a name.
fn has_class(error: &Bound<'_, PyAny>, mut is_it: impl FnMut(&str) -> bool) -> PyResult<bool> {
    for class in error.get_type().mro() {
        if is_it(&class.cast::<PyType>()?.name()?.to_string_lossy()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Collects the meanings of the names and messages of an error and its causes (spec 8.15). True if the status in it is no server's.
fn clues(error: &Bound<'_, PyAny>) -> PyResult<(Clues, bool)> {
    let found = imported!(error.py(), "holdoff._facts", "clues")?.call1((error,))?;
    let (names, messages, kind, is_local): (Vec<String>, Vec<String>, String, bool) = found.extract()?;
    let names = names.iter().map(|name| Clues::of_name(name));
    let all = names.chain(messages.iter().map(|text| Clues::of_message(text))).fold(Clues::NONE, Clues::and);
    let by_number = if kind == FailureKind::Permanent.name() { Clues::PERMANENT } else { Clues::NONE };
    // The answers of SMTP to several recipients say more than a name.
    Ok((if kind.is_empty() { all } else { by_number }, is_local))
}

/// The failure that a user's function returned, or the word of its kind.
fn failure_from(answer: &Bound<'_, PyAny>, function: &str) -> PyResult<Kind> {
    if let Ok(failure) = answer.cast::<Failure>() {
        return Ok(failure.get().0);
    }
    if answer.is_instance_of::<PyString>() {
        return convert::kind(answer).map(Kind::new);
    }
    let or = match function {
        "on" => "a bool",
        "on_result" => "a bool or None",
        _ => "None",
    };
    let given = crate::config::type_name(answer);
    let instead =
        if is_coroutine(answer) { ", which nothing can await before a decision: give a plain function" } else { "" };
    close(answer);
    let message = format!("{function} must return a Failure, the word of its kind or {or}, not {given}{instead}");
    Err(PyTypeError::new_err(message))
}

/// The types of the errors of the program itself.
fn programming_errors(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    imported!(py, "holdoff._facts", "PROGRAMMING_ERRORS")
}

/// The failure of a built-in error, which carries no answer of a server: most failures are built-in errors.
fn builtin_failure(error: &Bound<'_, PyAny>) -> Option<Kind> {
    if error.is_exact_instance_of::<PyTimeoutError>() {
        return Some(Kind::TIMEOUT);
    }
    let plain = error.is_exact_instance_of::<PyConnectionError>()
        || error.is_exact_instance_of::<PyConnectionResetError>()
        || error.is_exact_instance_of::<PyConnectionRefusedError>()
        || error.is_exact_instance_of::<PyConnectionAbortedError>()
        || error.is_exact_instance_of::<PyOSError>()
        || error.is_exact_instance_of::<PyRuntimeError>()
        || error.is_exact_instance_of::<PyException>();
    plain.then_some(Kind::TRANSIENT)
}

/// True if the user's types name a class of the error that is permanent by the client table, or one between it and the error's own.
fn is_asked_for(error: &Bound<'_, PyAny>, types: &Py<PyAny>) -> PyResult<bool> {
    let named = imported!(error.py(), "holdoff.classifiers", "named")?.call1((error, types))?;
    Ok(named.extract::<Vec<String>>()?.iter().any(|name| Clues::of_name(name).has(Clues::PERMANENT)))
}

/// The classification by the answer that an error carries, and by the client table; none for a cancellation (spec 8.16, 8.17).
fn known(error: &Bound<'_, PyAny>, on: &On) -> PyResult<Option<Known>> {
    let (clues, is_local) = clues(error)?;
    let mut otherwise = clues.kind().map_or(Kind::TRANSIENT, Kind::new);
    if let (On::Types(types), FailureKind::Permanent) = (on, otherwise.kind)
        && is_asked_for(error, types)?
    {
        otherwise = Kind::TRANSIENT;
    }
    if let Some((status, headers)) = answer(error, false)?.filter(|_| !is_local) {
        let Known { failure, facts } = of_answer(error.py(), status, headers, otherwise)?;
        let facts = Facts { unsent: clues.is_unsent(), ..facts };
        return Ok(Some(Known { failure: clues.of_answer(failure), facts }));
    }
    if let Some((code, hint)) = end_of_rpc(error, has_class(error, |name| name == "RpcError")?)? {
        let failure =
            Kind::from_grpc(u32::from(code.code()), None).map_or(otherwise, |failure| failure.with_hint(hint));
        let facts = Facts { grpc: code.code(), ..Facts::NONE };
        return Ok((code != GrpcCode::Cancelled).then_some(Known { failure, facts }));
    }
    let facts = Facts { unsent: clues.is_unsent(), ..Facts::NONE };
    Ok((!clues.is_cancelled()).then_some(Known { failure: otherwise, facts }))
}

/// The failure of an answer by its status and headers; `otherwise` when the status is no failure.
fn of_answer(py: Python<'_>, status: u16, headers: Option<Bound<'_, PyAny>>, otherwise: Kind) -> PyResult<Known> {
    let mut reader = HintReader::new(clock::wall(py)?);
    if let Some(headers) = headers {
        // Headers that cannot be read count as missing.
        let _unreadable = hints::read(&mut reader, &headers);
    }
    let hint = reader.hint_for(u32::from(status));
    let failure = Kind::of_answer(u32::from(status), hint).unwrap_or_else(|| otherwise.with_hint(hint));
    Ok(Known { failure, facts: Facts { http: status, should_retry: reader.should_retry(), ..Facts::NONE } })
}

/// Status and headers of an answer.
type Answer<'py> = (u16, Option<Bound<'py, PyAny>>);

/// The answer in an error or a value, if there is one: of an error's `response` (httpx, requests, botocore) or of the object itself,
/// by `status_code` (httpx, requests), `["ResponseMetadata"]` (botocore), or beside `headers` its `status` (aiohttp, urllib3) or its
/// `code` (urllib). `itself` leaves `response` out.
fn answer<'py>(ended: &Bound<'py, PyAny>, itself: bool) -> PyResult<Option<Answer<'py>>> {
    let py = ended.py();
    let response = if itself { None } else { optional(ended, intern!(py, "response"))? };
    for of in response.iter().chain([ended]) {
        if let Some(status) = status(optional(of, intern!(py, "status_code"))?) {
            return Ok(Some((status, optional(of, intern!(py, "headers"))?)));
        }
        if let Some(metadata) = entry(of, intern!(py, "ResponseMetadata"))
            && let Some(status) = status(entry(&metadata, intern!(py, "HTTPStatusCode")))
        {
            return Ok(Some((status, entry(&metadata, intern!(py, "HTTPHeaders")))));
        }
    }
    let Some(headers) = optional(ended, intern!(py, "headers"))? else { return Ok(None) };
    for name in [intern!(py, "status"), intern!(py, "code")] {
        if let Some(status) = status(optional(ended, name)?) {
            return Ok(Some((status, Some(headers))));
        }
    }
    Ok(None)
}

/// An entry of a dict.
fn entry<'py>(of: &Bound<'py, PyAny>, key: &Bound<'py, PyString>) -> Option<Bound<'py, PyAny>> {
    of.cast::<PyDict>().ok()?.get_item(key).unwrap_or_default()
}

/// A status from 0 to 65535, also of an enum.
fn status(value: Option<Bound<'_, PyAny>>) -> Option<u16> {
    value?.cast::<PyInt>().ok()?.extract().ok()
}

functions! { py;
    /// The status and the headers of the answer in an error or a value; `itself` does not look for the answer that an error carries.
    fn answer_of(ended: &Bound<'py, PyAny>, itself: bool) -> PyResult<Option<Answer<'py>>> as "tuple[int, Any] | None" =
        answer(ended, itself);
}

/// True for an answer, and for an error that has one.
pub(crate) fn has_answer(ended: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(builtin_failure(ended).is_none() && answer(ended, false)?.is_some())
}

/// True if an error says that the body of its request was used up by an earlier one.
pub(crate) fn is_used_body(error: &Bound<'_, PyAny>) -> PyResult<bool> {
    let is_plain = builtin_failure(error).is_some();
    Ok(!is_plain && imported!(error.py(), "holdoff._facts", "is_used_body")?.call1((error,))?.extract()?)
}

/// The status code of a gRPC error, and its pushback.
fn end_of_rpc(error: &Bound<'_, PyAny>, is_rpc: bool) -> PyResult<Option<(GrpcCode, Hint)>> {
    let found = imported!(error.py(), "holdoff._facts", "end_of_rpc")?.call1((error, is_rpc))?;
    let Ok((name, metadata)) = found.extract::<(String, Bound<'_, PyAny>)>() else { return Ok(None) };
    let mut reader = HintReader::new(u64::MAX);
    let _unreadable = hints::read_pushback(&mut reader, &metadata);
    Ok(GrpcCode::parse(&name).map(|code| (code, reader.hint())))
}
