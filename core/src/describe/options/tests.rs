#[cfg(feature = "serde")]
mod guards;
mod policy;
mod set;
