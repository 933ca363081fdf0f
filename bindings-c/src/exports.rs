//! The functions of the header, each as a row: its kind, name, arguments and an expression over the core.

/// Declares functions of the header. Each row names its arguments with their types, or without one if [`argument`] has it, and
/// ends with an expression, in which `?` returns an error's number where the function returns one.
///
/// `fn name(arguments) -> type = expression` is any function. `status name(..) = action` does something and returns the number of
/// an error; `report name(..) = action` also writes the `problem`. The other kinds are functions of one machine, whose memory the
/// first line declares: `memory name([u64; words]) as argument holds Machine, magic, error` or, for a guard, `guard name([u64; words]) as
/// argument = pattern in Config, magic`; of memory that is declared elsewhere `on pattern in name as argument`. The expression
/// sees the machine under the name of the argument, or what the pattern takes of it.
///
/// | Kind | Function |
/// |---|---|
/// | `get name(..) -> type = value, else none` | looks at the machine; `none` for memory without one |
/// | `get_mut name(..) -> type = value, else none` | changes it |
/// | `get name(..) = action`, `get_mut name(..) = action` | does something, and returns the number of an error |
/// | `change name(..) = action` | changes a guard; its documentation ends with what every such function returns |
/// | `init name(..) = machine` | stores the machine, and returns the number of an error |
/// | `make name(..) = machine` | stores the machine, and returns the number of an error and the `problem` |
/// | `step name(..) = step` | gives a call an input, and returns its step; zeroed memory is a call that was cancelled |
/// | `step name(..) -> type = step` | gives another machine an input, and returns its step |
///
/// `on (call, guards) in name as argument` lends a call its guards for each step, and `on (call, guards, events) in ..` also writes
/// the events of the step.
macro_rules! extern_c {
    ($(#[$meta:meta])* memory $memory:ident($($state:tt)*) as $this:ident holds $inner:ty $(, $magic:expr, $foreign:ident)?;
        $($rows:tt)*) => {
        $crate::boundary::memory! { $(#[$meta])* $memory($($state)*) holds $inner $(, $magic, $foreign)? }
        $crate::exports::rows! { [$memory $this $this] $($rows)* }
    };
    ($(#[$meta:meta])* guard $memory:ident($count:tt $(, $words:ident: $at:ty, $length:ident: usize)?) as $this:ident = $machine:pat
        in $config:ty, $magic:expr; $($rows:tt)*) => {
        $crate::boundary::memory! { $(#[$meta])* $memory($count $(, $words: $at, $length: usize)?) holds Guard<$config>, $magic, NotAGuard }
        impl StoredGuard for $config {
            type Words = $crate::exports::words_type!($($words)?);
        }
        $crate::exports::rows! { [$memory $this $machine] $($rows)* }
    };
    (on $memory:ident as $this:ident; $($rows:tt)*) => { $crate::exports::rows! { [$memory $this $this] $($rows)* } };
    (on ($call:ident, $guards:ident $(, $events:ident)?) in $memory:ident as $this:ident; $($rows:tt)*) => {
        $crate::exports::rows! { [$memory $this ($call, $guards $(, $events)?)] $($rows)* }
    };
    (on $machine:pat in $memory:ident as $this:ident; $($rows:tt)*) => {
        $crate::exports::rows! { [$memory $this $machine] $($rows)* }
    };
    ($($rows:tt)*) => { $crate::exports::rows! { [] $($rows)* } };
}
pub(crate) use extern_c;

/// The words of a guard.
macro_rules! words_type {
    () => {
        [Words; 0]
    };
    (words) => {
        [Words; 1]
    };
}
pub(crate) use words_type;

/// Splits the rows.
macro_rules! rows {
    ($on:tt $($(#[$meta:meta])* $kind:ident $name:ident($($argument:ident $(: $type:ty)?),*) $(-> $answer:ty)?
        = $body:expr $(, else $none:expr)?;)*) => {
        $($crate::exports::row! {
            $kind $on [$(#[$meta])* $name] ($($argument: $crate::exports::argument!($argument $($type)?)),*)
            ($($answer)?) $body $(, $none)?
        })*
    };
}
pub(crate) use rows;

/// Writes the function of one row: its kind, its machine, its documentation and name, its arguments, its answer, its expression.
macro_rules! row {
    (fn $on:tt [$(#[$meta:meta])* $name:ident] ($($argument:ident: $type:ty),* $(,)?) ($($answer:ty)?) $body:expr) => {
        $(#[$meta])*
        #[unsafe(no_mangle)]
        #[allow(unused_unsafe, unused_variables, reason = "some functions take no pointer, or need no configuration")]
        pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $answer)? {
            // SAFETY: the header makes the caller promise what every function here needs: each pointer is NULL or points to
            // an object of its type, of the size given with it, that nothing else uses meanwhile.
            unsafe { $body }
        }
    };
    (step [$memory:ident $this:ident ($call:ident, $guards:ident)] $head:tt ($($rest:tt)*) () $body:expr) => {
        $crate::exports::row! { fn [] $head ($this: *mut $memory, $($rest)*) (holdoff_step)
            put($this, $guards, &mut |$call, $guards| Ok($body)) }
    };
    (step [$memory:ident $this:ident ($call:ident, $guards:ident, $events:ident)] $head:tt ($($rest:tt)*) () $body:expr) => {
        $crate::exports::row! { fn [] $head ($this: *mut $memory, $($rest)*, $events: *mut holdoff_events) (holdoff_step)
            write_down($this, $guards, $events, &mut |$call, $guards| Ok($body)) }
    };
    (get [$memory:ident $this:ident $machine:pat] $head:tt ($($rest:tt)*) ($answer:ty) $body:expr, $none:expr) => {
        $crate::exports::row! { fn [] $head ($this: *const $memory, $($rest)*) ($answer)
            get($this).and_then(|$machine| Ok($body)).unwrap_or_else(|_: ErrorCode| $none) }
    };
    (get_mut [$memory:ident $this:ident $machine:pat] $head:tt ($($rest:tt)*) ($answer:ty) $body:expr, $none:expr) => {
        $crate::exports::row! { fn [] $head ($this: *mut $memory, $($rest)*) ($answer)
            get_mut($this).and_then(|$machine| Ok($body)).unwrap_or_else(|_: ErrorCode| $none) }
    };
    (get [$memory:ident $this:ident $machine:pat] $head:tt ($($rest:tt)*) () $body:expr) => {
        $crate::exports::row! { status [] $head ($this: *const $memory, $($rest)*) () { let $machine = get($this)?; $body } }
    };
    (get_mut [$memory:ident $this:ident $machine:pat] $head:tt ($($rest:tt)*) () $body:expr) => {
        $crate::exports::row! { status [] $head ($this: *mut $memory, $($rest)*) () { let $machine = get_mut($this)?; $body } }
    };
    (change $on:tt [$(#[$meta:meta])* $name:ident] $rest:tt () $body:expr) => {
        $crate::exports::row! { get_mut $on [$(#[$meta])* #[doc = ""]
            #[doc = " Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD."] $name] $rest () $body }
    };
    (init [$memory:ident $this:ident $machine:pat] $head:tt ($($rest:tt)*) () $body:expr) => {
        $crate::exports::row! { status [] $head ($this: *mut $memory, $($rest)*) () store($this, $body)? }
    };
    (make [$memory:ident $this:ident $machine:pat] $head:tt ($($rest:tt)*) () $body:expr) => {
        $crate::exports::row! { report [] $head ($this: *mut $memory, $($rest)*) () store($this, $body)? }
    };
    (status $on:tt $head:tt ($($rest:tt)*) () $body:expr) => {
        $crate::exports::row! { fn [] $head ($($rest)*) (c_int) status(|| Ok($body)) }
    };
    (report $on:tt $head:tt ($($argument:ident: $type:ty),* $(,)?) () $body:expr) => {
        $crate::exports::row! { fn [] $head ($($argument: $type,)* problem: *mut holdoff_problem) (c_int)
            report(problem, &mut || Ok($body)) }
    };
    (step [$memory:ident $this:ident $machine:pat] $head:tt ($($rest:tt)*) () $body:expr) => {
        $crate::exports::row! { fn [] $head ($this: *mut $memory, $($rest)*) (holdoff_step)
            give($this, |$machine| Ok($body)) }
    };
    (step [$memory:ident $this:ident $machine:pat] $head:tt ($($rest:tt)*) ($answer:ty) $body:expr) => {
        $crate::exports::row! { fn [] $head ($this: *mut $memory, $($rest)*) ($answer)
            get_mut($this).and_then(|$machine| Ok($body)).into() }
    };
}
pub(crate) use row;

/// Returns the type of an argument: the given type, or else the type that arguments of this name have everywhere.
///
/// Times, permits and the like cross as the core's own types, which are `repr(transparent)` over the numbers that the
/// header shows. Lengths of time come in as a `u64`: not every number is a `Span`.
macro_rules! argument {
    (failure) => { holdoff_failure };
    (guards) => { *const holdoff_guards };
    (length) => { usize };
    (words) => { *mut u64 };
    (now) => { Timestamp };
    (options) => { *const holdoff_options };
    (policy) => { *const holdoff_policy };
    (problem) => { *mut holdoff_problem };
    (seed) => { u64 };
    (size) => { usize };
    (ticket) => { u64 };
    ($argument:ident $type:ty) => { $type };
}
pub(crate) use argument;
