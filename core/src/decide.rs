//! Decisions after a failure: policies as plain data, the machines that apply them, and the guards that calls share.

pub(crate) mod backoff;
pub(crate) mod bucket;
pub(crate) mod by_rules;
pub(crate) mod call;
pub(crate) mod chaos;
pub(crate) mod clients;
pub(crate) mod failure;
pub(crate) mod fingerprint;
pub(crate) mod grpc;
pub(crate) mod guarded;
pub(crate) mod guards;
pub(crate) mod hint;
pub(crate) mod jitter;
pub(crate) mod layered;
pub(crate) mod policy;
pub(crate) mod policy_fields;
pub(crate) mod policy_numbers;
pub(crate) mod policy_rules;
pub(crate) mod policy_table;
pub(crate) mod raw_step;
pub(crate) mod retry;
pub(crate) mod rng;
pub(crate) mod schedule;
pub(crate) mod stage;
pub(crate) mod stage_numbers;
pub(crate) mod stages;
