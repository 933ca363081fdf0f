//! Conversion types: a parameter of one of these types is checked and converted before the method runs, and a result of one of
//! these types has a type of `holdoff.types` in the stub.

use crate::config;
use crate::convert;
use holdoff_core::{FailureKind, Span, Ticket, TimerKey, Timestamp};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
#[cfg(feature = "stub")]
use pyo3::{inspect::PyStaticExpr, type_hint_identifier, type_hint_union};
use std::borrow::Cow;
use std::ops::Deref;

/// Declares types that are converted from one Python value; `shown` is the type in the stub.
macro_rules! parameters {
    ($($(#[$doc:meta])* $name:ident($inner:ty) shown $shown:tt = |$value:ident| $convert:expr;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name(pub(crate) $inner);

        impl<'a, 'py> FromPyObject<'a, 'py> for $name {
            type Error = PyErr;

            #[cfg(feature = "stub")]
            const INPUT_TYPE: PyStaticExpr = type_hint_identifier! $shown;

            fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
                let $value = &*value;
                $convert.map(Self)
            }
        }
    )* };
}

parameters! {
    /// The time of a transition, in nanoseconds.
    Time(Timestamp) shown ("builtins", "int") = |value| convert::time("now", value);
    /// The time at which something happened, in nanoseconds.
    EventTime(Timestamp) shown ("builtins", "int") = |value| convert::time("event", value);
    /// The time at which a gate opens, in nanoseconds.
    ReleaseTime(Timestamp) shown ("builtins", "int") = |value| convert::time("release", value);
    /// The time at which a timer is due, in nanoseconds.
    DueTime(Timestamp) shown ("builtins", "int") = |value| convert::time("at", value);
    /// The time at which the first attempt began, in nanoseconds.
    StartTime(Timestamp) shown ("builtins", "int") = |value| convert::time("started", value);
    /// The time of the latest throttled answer, in nanoseconds.
    ThrottleTime(Timestamp) shown ("builtins", "int") = |value| convert::time("throttled_at", value);
    /// The time of the wall clock, in nanoseconds since the Unix epoch.
    WallTime(Timestamp) shown ("builtins", "int") = |value| convert::time("wall_ns", value);
    /// The length of a call, in nanoseconds.
    Took(Span) shown ("builtins", "int") = |value| convert::nanos("took", value);
    /// The length of a delay, in nanoseconds.
    Delay(Span) shown ("builtins", "int") = |value| convert::nanos("delay", value);
    /// The length of a hint, in nanoseconds.
    HintSpan(Span) shown ("builtins", "int") = |value| convert::nanos("span", value);
    /// The cap of a delay, in nanoseconds.
    Longest(Span) shown ("builtins", "int") = |value| convert::nanos("longest", value);
    /// A ticket; a number that no ticket has names no attempt.
    TicketNumber(Ticket) shown ("builtins", "int") = |value| convert::number("ticket", value).map(Ticket::from_raw);
    /// The number of a run.
    RunNumber(u64) shown ("builtins", "int") = |value| convert::number("run", value);
    /// The key of a timer.
    TimerNumber(TimerKey) shown ("builtins", "int") = |value| convert::number("key", value).map(TimerKey::from_raw);
    /// The number of a failure, from 0.
    FailureNumber(u32) shown ("builtins", "int") = |value| convert::half("n", value);
    /// The status of an HTTP answer.
    Status(u32) shown ("builtins", "int") = |value| convert::half("status", value);
    /// A seed.
    SeedNumber(u64) shown ("builtins", "int") = |value| convert::seed("seed", value);
    /// The seed of a program.
    ProgramSeed(u64) shown ("builtins", "int") = |value| convert::seed("n", value);
    /// The place of an operation in a program, from 0.
    Place(u64) shown ("builtins", "int") = |value| convert::seed("k", value);
    /// The word of a failure's kind.
    Kind(FailureKind) shown ("holdoff._literals", "Word") = |value| convert::kind(value);
    /// The word of a reason to stop.
    StopWord(holdoff_core::StopReason) shown ("holdoff._literals", "StopReason") = |value| convert::reason(value);
}

/// An optional time; the clock's unless given.
pub(crate) type Now = Option<Time>;
/// An optional seed; one from the operating system unless given.
pub(crate) type Seed = Option<SeedNumber>;

/// Declares types that hold one Python value, for parameters that are converted in the method, under their own names.
macro_rules! values {
    ($($(#[$doc:meta])* $name:ident shown $shown:expr;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name<'a, 'py>(pub(crate) Borrowed<'a, 'py, PyAny>);

        impl<'a, 'py> FromPyObject<'a, 'py> for $name<'a, 'py> {
            type Error = PyErr;

            #[cfg(feature = "stub")]
            const INPUT_TYPE: PyStaticExpr = $shown;

            #[inline]
            fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
                Ok(Self(value))
            }
        }

        impl<'py> Deref for $name<'_, 'py> {
            type Target = Bound<'py, PyAny>;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }
    )* };
}

values! {
    /// A length of time as people write it: seconds, text with a unit, or a `timedelta`.
    Duration shown type_hint_identifier!("holdoff.types", "Duration");
    /// The same, or "none" for no limit.
    Limit shown type_hint_identifier!("holdoff.types", "Limit");
    /// Text or bytes.
    Text shown type_hint_union!(type_hint_identifier!("builtins", "str"), type_hint_identifier!("builtins", "bytes"));
}

impl Duration<'_, '_> {
    pub(crate) fn span(self, name: &str) -> PyResult<Span> {
        config::span(name, &self.0)
    }
}

impl Limit<'_, '_> {
    /// None for "none".
    pub(crate) fn span(self, name: &str) -> PyResult<Option<Span>> {
        config::span_or_none(name, &self.0)
    }
}

impl Text<'_, '_> {
    /// The bytes of the text, with U+FFFD for what is no Unicode.
    pub(crate) fn bytes(&self, name: &str) -> PyResult<Cow<'_, [u8]>> {
        if let Ok(bytes) = self.cast::<PyBytes>() {
            return Ok(Cow::Borrowed(bytes.as_bytes()));
        }
        let text = self.cast::<PyString>().map_err(|_| config::must_be(name, "str or bytes", &self.0))?;
        Ok(match text.to_string_lossy() {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        })
    }
}

/// An optional duration.
pub(crate) trait SpanOr {
    /// The span of the parameter with this name, or the default.
    fn span_or(self, name: &str, default: Span) -> PyResult<Span>;
}

impl SpanOr for Option<Duration<'_, '_>> {
    fn span_or(self, name: &str, default: Span) -> PyResult<Span> {
        self.map_or(Ok(default), |duration| duration.span(name))
    }
}

impl SpanOr for Option<Limit<'_, '_>> {
    fn span_or(self, name: &str, default: Span) -> PyResult<Span> {
        self.map_or(Ok(default), |limit| Ok(limit.span(name)?.unwrap_or(Span::MAX)))
    }
}

/// Declares types of words that Python reads: `Literal`s with the same names in a module of the package.
macro_rules! words {
    ($module:literal: $($name:ident($inner:ty) = |$value:ident| $word:expr;)*) => {
        results! { $(
            $name($inner) shown type_hint_identifier!($module, stringify!($name)),
                |py, $value| Ok(PyString::intern(py, $word).into_any());
        )* }
    };
}

words! { "holdoff._literals":
    Word(FailureKind) = |kind| kind.name();
    StopReason(holdoff_core::StopReason) = |reason| reason.name();
    Cause(holdoff_core::Cause) = |cause| cause.name();
    EventKind(holdoff_core::EventKind) = |kind| kind.name();
    BreakerState(holdoff_core::BreakerState) = |state| state.name();
    InTime(holdoff_core::InTime) = |in_time| in_time.name();
    Level(holdoff_core::Level) = |level| level.name();
    PresetName(holdoff_core::Preset) = |preset| preset.name();
    Ended(holdoff_core::Ended) = |end| end.name();
}

words! { "holdoff.types":
    StepKind(&'static str) = |kind| kind;
    PeriodicKind(&'static str) = |kind| kind;
    DecisionKind(&'static str) = |kind| kind;
    OutcomeWord(&'static str) = |outcome| outcome;
    NextStep(&'static str) = |next| next;
}
