//! Logs of calls, from which another process goes on.

pub(crate) mod event;
pub(crate) mod recorder;
pub(crate) mod replay;
