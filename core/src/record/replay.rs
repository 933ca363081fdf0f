//! A log read back: the call as it was when its latest event was written, whatever has become of the process (spec 34).
//!
//! Nothing is taken from the log that the machine can say itself. It is run again on what happened to it, the attempts that
//! failed and the times; so what it holds inside, the state of its jitter included, is what it held. Its decisions
//! can then be compared with those of the log.

use crate::decide::policy::Policy;
use crate::error::ErrorCode;
use crate::record::event::{Event, EventKind};
use crate::record::recorder::Recorder;
use crate::record::recorder::replayed::Computed;
use crate::words::words;
use core::fmt;

words! {
    /// Which decision counts where the log has one and the policy makes another.
    pub enum ReplayMode: u8 {
        /// The log's: what was promised is kept, also when the policy is another one by now.
        Follow = 1 "follow" "what the log says counts";
        /// None: the first difference is an error.
        Verify = 2 "verify" "where the log and the policy differ is an error";
    }
}

/// A log that is being read, event by event.
///
/// # Contract
/// [`Replay::apply`] takes the events in their order, each once; an error changes nothing, and names the event by its number.
/// [`Replay::finish`] gives the recorder, which goes on by [`Recorder::resume`]. Of a call without guards it is bit for bit
/// the recorder that wrote the log; with guards its [`Recorder::call`] is. A log that ends between a failure and the
/// decision about it gives a recorder whose first input writes that decision.
#[derive(Clone, Copy, Debug)]
pub struct Replay {
    recorder: Option<Recorder>,
    mode: ReplayMode,
    any_policy: bool,
}

#[expect(clippy::result_large_err, reason = "an error is rare and shows both events; there is no heap to put them on")]
impl Replay {
    /// A replay before the first event.
    pub const fn new(mode: ReplayMode) -> Self {
        Self { recorder: None, mode, any_policy: false }
    }

    /// The log may have been written under another policy.
    #[must_use]
    pub const fn any_policy(self) -> Self {
        Self { any_policy: true, ..self }
    }

    /// Takes the next event.
    ///
    /// # Errors
    /// A [`ReplayError`]: the event contradicts itself, is not the next one, or is not what this policy decides.
    pub fn apply(&mut self, policy: &Policy, event: &Event) -> Result<(), ReplayError> {
        let mut computed = None;
        let applied = self.advance(policy, event, &mut computed);
        applied.map_err(|(code, sequence)| ReplayError { code, sequence, recorded: Some(*event), computed })
    }

    /// [`Self::apply`]; an error is its number and that of the event, and what the machine decides instead is in `computed`.
    #[inline(never)]
    fn advance(
        &mut self,
        policy: &Policy,
        event: &Event,
        computed: &mut Option<Event>,
    ) -> Result<(), (ErrorCode, u64)> {
        let expected = self.expected();
        let event = &event.check().map_err(|error| (error.code, expected))?;
        let sequence = event.sequence();
        let Some(mut recorder) = self.recorder else {
            if sequence != 1 || event.kind() != EventKind::Started {
                return Err((ErrorCode::LogStart, 1));
            }
            if !self.any_policy && event.policy() != policy.fingerprint() {
                return Err((ErrorCode::LogPolicy, 1));
            }
            self.recorder = Some(Recorder::replayed(policy, event));
            return Ok(());
        };
        if sequence > expected {
            return Err((ErrorCode::LogGap, expected));
        }
        if sequence < expected {
            let twice = sequence == recorder.sequence();
            return Err((if twice { ErrorCode::LogTwice } else { ErrorCode::LogOrder }, sequence));
        }
        if event.at() < recorder.latest() {
            return Err((ErrorCode::LogTime, sequence));
        }
        match recorder.replay(policy, event).ok_or((ErrorCode::LogImpossible, sequence))? {
            Computed::Other(decided) if self.mode == ReplayMode::Verify => {
                *computed = decided.map(|decided| decided.numbered(sequence));
                Err((ErrorCode::LogDiverged, sequence))
            }
            Computed::Same | Computed::Other(_) => {
                self.recorder = Some(recorder);
                Ok(())
            }
        }
    }

    /// The recorder as it was when the latest event was written.
    ///
    /// # Errors
    /// There was no event.
    pub fn finish(self) -> Result<Recorder, ReplayError> {
        self.recorder.ok_or(ReplayError { code: ErrorCode::LogEmpty, sequence: 1, recorded: None, computed: None })
    }

    /// The number of the event that comes next.
    pub fn expected(&self) -> u64 {
        self.recorder.map_or(1, |recorder| recorder.sequence().saturating_add(1))
    }
}

/// An error of a log, and its event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ReplayError {
    /// The number of the rule that was broken.
    pub code: ErrorCode,
    /// The number of the event; of a gap, of the first missing event.
    pub sequence: u64,
    /// The event that came.
    pub recorded: Option<Event>,
    /// The event of the machine in its place, when that is known.
    pub computed: Option<Event>,
}

/// `event 5: is not what the policy decides: the log says RETRY_SCHEDULED, attempt 3, in 2s (backoff); the policy says
/// GAVE_UP, attempt 2, attempts`.
impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = self.code.rule(None);
        let Some(recorded) = &self.recorded else { return write!(f, "the log {rule}") };
        write!(f, "event {}: {rule}", self.sequence)?;
        match self.code {
            ErrorCode::LogGap | ErrorCode::LogStart => write!(f, "; found {recorded}"),
            ErrorCode::LogDiverged | ErrorCode::LogImpossible => {
                f.write_str(": the log says ")?;
                recorded.describe(f)?;
                match (&self.computed, self.code) {
                    (Some(computed), _) => {
                        f.write_str("; the policy says ")?;
                        computed.describe(f)
                    }
                    (None, ErrorCode::LogDiverged) => f.write_str("; the policy decides nothing here"),
                    (None, _) => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

impl core::error::Error for ReplayError {}

#[cfg(test)]
#[expect(clippy::result_large_err, reason = "an error shows both events")]
mod tests;
