//! Figures of the baseline: instructions that are counted and bytes that are weighed.

/// Something counted or weighed.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Figure {
    /// The results that it belongs to: a language of the benches, or `sizes`.
    pub(crate) lang: String,
    /// The work that was done or weighed, in the words of the benches.
    pub(crate) work: String,
    /// The machine, package or floor that did it.
    pub(crate) who: String,
    pub(crate) unit: Unit,
    pub(crate) value: f64,
}

/// The unit of a figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unit {
    Instructions,
    Bytes,
}

impl Unit {
    pub(crate) const ALL: [Self; 2] = [Self::Instructions, Self::Bytes];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Bytes => "bytes",
        }
    }
}

impl Figure {
    pub(crate) fn bytes(work: &str, who: &str, bytes: u64) -> Self {
        let (lang, work, who) = ("sizes".to_owned(), work.to_owned(), who.to_owned());
        Self { lang, work, who, unit: Unit::Bytes, value: bytes as f64 }
    }

    /// True if both are of the same thing.
    pub(super) fn names(&self, other: &Self) -> bool {
        self.lang == other.lang && self.work == other.work && self.who == other.who && self.unit == other.unit
    }

    /// True if it depends on the processor that the program runs on. A wasm module and a microcontroller's code do not, and
    /// states have the same bytes on all that have 64 bits.
    pub(super) fn is_of_this_machine(&self) -> bool {
        self.unit == Unit::Instructions || ["library", "wheel"].iter().any(|part| self.work.contains(part))
    }

    /// True if the baseline holds it: floors and peers are measured beside ours for the ratio alone.
    pub(super) fn is_ours(&self) -> bool {
        let others = ["bare", "by hand", "a call", "backoffAlgorithm"];
        !others.contains(&self.who.as_str()) && !self.who.starts_with("floor")
    }

    pub(super) fn words(&self) -> String {
        format!("{}: {}, {}", self.lang, self.work, self.who)
    }
}
