//! A scenario: the clients, the server and its fault. It is data, written as JSON in sim/storm.json and by the storm lab.

use crate::server::Fault;
use anyhow::{Result, ensure};
use serde::Deserialize;
use std::ops::Range;
use std::time::Duration;

/// The numbers of a run. Fields that a document leaves out have the values of [`Scenario::default`].
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// How many processes call the server.
    pub clients: u32,
    /// How many calls each makes a second, on average.
    pub rate: f64,
    /// True if a client begins its next call only after the last one has ended, so that a slow server gets fewer calls.
    pub closed: bool,
    /// The part of the server's capacity that the calls need when none fails.
    pub load: f64,
    /// A fault of the server for a while.
    pub fault: Fault,
    /// When the fault begins, in seconds.
    pub begins: u64,
    /// How long it lasts, in seconds.
    pub lasts: f64,
    /// How many seconds after it calls still come.
    pub after: u64,
    /// How many seconds a client waits for the answer to an attempt, unless its policy says less.
    pub patience: f64,
    /// All processes end and begin anew when the fault begins, and each so many seconds after that while it lasts.
    pub restarts: Option<u64>,
    /// Calls that come within 100 ms of the fault's begin, as many as the server can answer in so many seconds.
    pub herd: f64,
    /// Three more servers, which each process calls as often as the first one.
    pub others: Option<Others>,
    /// Where all chance comes from.
    pub seed: u64,
    /// The run ends early after so many attempts.
    pub most_attempts: u64,
}

/// Servers beside the one with the fault; a hundredth of their requests fails, at any time.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Others {
    /// A process has guards for each server, not one set for all.
    pub guards_each: bool,
    /// The run measures the calls to these servers, not those to the server with the fault.
    pub measured: bool,
}

/// How many servers there are with [`Others`].
pub(crate) const SERVERS: u32 = 4;

/// Ten thousand clients that make a call a second each, and a server that can do a quarter more than they need and is down from
/// second 30 to second 60 of 100.
impl Default for Scenario {
    fn default() -> Self {
        Self {
            clients: 10_000,
            rate: 1.0,
            closed: false,
            load: 0.8,
            fault: Fault::Down,
            begins: 30,
            lasts: 30.0,
            after: 40,
            patience: 1.0,
            restarts: None,
            herd: 0.0,
            others: None,
            seed: 7,
            most_attempts: u64::MAX,
        }
    }
}

impl Scenario {
    /// Says which number is out of its range.
    ///
    /// # Errors
    /// The first such number.
    pub fn check(&self) -> Result<()> {
        let within = |name: &str, value: f64, range: Range<f64>| {
            let Range { start, end } = range;
            ensure!((start..=end).contains(&value), "`{name}` = {value}: must be from {start} to {end}");
            Ok(())
        };
        within("clients", self.clients.into(), 1.0..10e6)?;
        within("rate", self.rate, 0.001..10_000.0)?;
        within("load", self.load, 0.01..100.0)?;
        // The level before the fault is measured in the seconds before it, and the recovery in those after it.
        within("begins", self.begins as f64, 5.0..3600.0)?;
        within("lasts", self.lasts, 0.1..3600.0)?;
        within("after", self.after as f64, 10.0..3600.0)?;
        within("patience", self.patience, 0.001..3600.0)?;
        within("herd", self.herd, 0.0..1000.0)?;
        within("restarts", self.restarts.unwrap_or(1) as f64, 1.0..3600.0)?;
        self.fault.numbers().into_iter().try_for_each(|(name, value, range)| within(name, value, range))
    }

    /// The seconds in which the server has its fault; it may have it for a part of the last one.
    #[must_use]
    pub fn ill(&self) -> Range<u64> {
        self.begins..self.begins + self.lasts.ceil() as u64
    }

    /// When the last call comes, in seconds.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.ill().end + self.after
    }

    /// How many requests a second the server with the fault can answer.
    #[must_use]
    pub fn capacity(&self) -> f64 {
        f64::from(self.clients) * self.rate / f64::from(self.servers()) / self.load
    }

    /// How many calls a second the run measures.
    #[must_use]
    pub fn measured_rate(&self) -> f64 {
        let measured = if self.others.is_some_and(|others| others.measured) { self.servers() - 1 } else { 1 };
        f64::from(self.clients) * self.rate * f64::from(measured) / f64::from(self.servers())
    }

    pub(crate) const fn servers(&self) -> u32 {
        if self.others.is_some() { SERVERS } else { 1 }
    }

    /// How many sets of guards a process has.
    pub(crate) fn sets(&self) -> u32 {
        if self.others.is_some_and(|others| others.guards_each) { SERVERS } else { 1 }
    }

    /// True if the run measures the calls to that server; the first one has the fault.
    pub(crate) fn measures(&self, server: u32) -> bool {
        (server > 0) == self.others.is_some_and(|others| others.measured)
    }

    /// [`Self::patience`] in nanoseconds.
    pub(crate) fn patience(&self) -> u64 {
        Duration::from_secs_f64(self.patience).as_nanos() as u64
    }
}
