//! Vectors are data that every language runs; this crate reads, runs and generates them.
//!
//! The formats are described for people in `vectors/README.md` and for programs in `vectors/schema.json`.

pub mod adaptives;
pub mod breakers;
pub mod budgets;
pub mod catalogue;
pub mod chaos;
pub mod classify;
pub mod clients;
pub mod documents;
pub mod facts;
pub mod fields;
pub mod format;
pub mod gates;
pub mod generate;
pub mod guarded;
pub mod hints;
pub mod layers;
pub mod limiters;
pub mod logs;
pub mod loop_backoffs;
pub mod methods;
pub mod nestings;
pub mod options;
pub mod random_logs;
pub mod references;
pub mod relay;
pub mod run;
pub mod saves;
pub mod schema;
pub mod sessions;
pub mod traces;
pub mod wheel;
