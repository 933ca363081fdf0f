//! A periodic's step as plain numbers, for hosts in other languages.

use super::PeriodicStep;

/// [`PeriodicStep`] in 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct RawPeriodicStep {
    /// One of the constants below.
    pub kind: u8,
    /// [`RawPeriodicStep::STOP`]: the number of the [`crate::Ended`]; else 0.
    pub ended: u8,
    /// No padding: a step is its bytes.
    pub unused: [u8; 6],
    /// [`RawPeriodicStep::RUN`]: the number of the run. [`RawPeriodicStep::SLEEP`]: until when. Else 0.
    pub value: u64,
}

impl RawPeriodicStep {
    /// Run it.
    pub const RUN: u8 = 1;
    /// Nothing runs: wait, then tick.
    pub const SLEEP: u8 = 2;
    /// A run is in flight.
    pub const WAIT: u8 = 3;
    /// It is over.
    pub const STOP: u8 = 4;
}

impl From<PeriodicStep> for RawPeriodicStep {
    fn from(step: PeriodicStep) -> Self {
        let flat = |kind, ended, value| Self { kind, ended, unused: [0; 6], value };
        match step {
            PeriodicStep::Run { run } => flat(Self::RUN, 0, run),
            PeriodicStep::Sleep { until } => flat(Self::SLEEP, 0, until.as_nanos()),
            PeriodicStep::Wait => flat(Self::WAIT, 0, 0),
            PeriodicStep::Stop(ended) => flat(Self::STOP, ended.code(), 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::periodic::Ended;
    use crate::time::Timestamp;

    #[test]
    fn a_step_is_sixteen_bytes_that_say_the_same() {
        assert_eq!(size_of::<RawPeriodicStep>(), 16);
        let of = |step| {
            let RawPeriodicStep { kind, ended, value, .. } = RawPeriodicStep::from(step);
            (kind, ended, value)
        };
        assert_eq!(of(PeriodicStep::Run { run: 7 }), (1, 0, 7));
        assert_eq!(of(PeriodicStep::Sleep { until: Timestamp::from_nanos(9) }), (2, 0, 9));
        assert_eq!(of(PeriodicStep::Wait), (3, 0, 0));
        assert_eq!(of(PeriodicStep::Stop(Ended::Steps)), (4, 5, 0));
    }
}
