//! Building, testing and packing the engines: packages of their own above the bindings.

pub(crate) mod bullmq;
