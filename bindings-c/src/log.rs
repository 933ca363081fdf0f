//! What a call did, written down so that another process can go on with it.

pub(crate) mod event;
pub(crate) mod recorder;
pub(crate) mod replay;
