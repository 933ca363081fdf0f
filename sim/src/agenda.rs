//! The events to come of a run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// The next event of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Event {
    /// The server's answer.
    Answer,
    /// The server's queue is full.
    Refusal,
    /// The server failed.
    Error,
    /// The client has waited long enough.
    Timeout,
    /// A sleep is over.
    Wake,
    /// The server refused it for its rate.
    Limit,
    /// A client begins a call.
    Call,
}

/// The call of an event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Whose {
    /// The slot of the call's state.
    pub(crate) slot: u32,
    /// The client and the server that it calls, see [`crate::fleet`].
    pub(crate) pair: u32,
}

/// The events to come, the earliest first. Events at the same time come in a fixed order.
#[derive(Default)]
pub(crate) struct Agenda {
    /// All but the last three kinds are nearly always planned in the order they come.
    in_order: [Queue; 4],
    others: Buckets,
}

impl Agenda {
    pub(crate) fn plan(&mut self, at: u64, whose: Whose, event: Event) {
        let queue = self.in_order.get_mut(event as usize);
        match queue.filter(|queue| queue.last <= at || queue.is_empty()) {
            Some(queue) => queue.push(at, whose),
            None => self.others.push((at, whose, event)),
        }
    }

    /// Takes the next event that is due before `end`. Now and then shows `look` the calls of events that come soon after it.
    pub(crate) fn next(&mut self, end: u64, mut look: impl FnMut(Whose)) -> Option<Entry> {
        let mut next = self.others.first(&mut look);
        let mut source = None;
        for (number, event) in [Event::Answer, Event::Refusal, Event::Error, Event::Timeout].into_iter().enumerate() {
            if let Some((at, whose)) = self.in_order[number].first()
                && next.is_none_or(|(earliest, ..)| at < earliest)
            {
                (next, source) = (Some((at, whose, event)), Some(number));
            }
        }
        let next = next.filter(|&(at, ..)| at < end)?;
        match source {
            Some(number) => self.in_order[number].pop(look),
            None => drop(self.others.earliest.pop()),
        }
        Some(next)
    }
}

/// An event, its time and its call.
type Entry = (u64, Whose, Event);

/// Entries in any order of their times. An entry waits in the bucket of its millisecond, and only the earliest bucket is a heap: one
/// of a million entries waits for memory at each of its levels.
#[derive(Default)]
struct Buckets {
    /// The earliest bucket, and entries that were planned before it.
    earliest: BinaryHeap<Reverse<Entry>>,
    /// The number of the earliest bucket.
    number: u64,
    /// The other buckets by their numbers.
    later: BTreeMap<u64, Vec<Reverse<Entry>>>,
}

impl Buckets {
    fn push(&mut self, entry: Entry) {
        // About a millisecond.
        let number = entry.0 >> 20;
        if number > self.number {
            self.later.entry(number).or_default().push(Reverse(entry));
        } else {
            self.earliest.push(Reverse(entry));
        }
    }

    /// The first entry. Shows `look` the calls of a bucket whose time has come.
    fn first(&mut self, mut look: impl FnMut(Whose)) -> Option<Entry> {
        while self.earliest.is_empty() {
            let (number, bucket) = self.later.pop_first()?;
            bucket.iter().for_each(|&Reverse((_, whose, _))| look(whose));
            (self.number, self.earliest) = (number, bucket.into());
        }
        self.earliest.peek().map(|&Reverse(entry)| entry)
    }
}

/// How many entries a chunk of a queue has.
const CHUNK: usize = 4096;
/// How many entries a queue shows at once.
const AHEAD: usize = 32;

/// Entries in the order of their times. Grows by chunks: a list would have twice the memory that it needs, and is copied when it grows.
#[derive(Default)]
struct Queue {
    chunks: VecDeque<Vec<(u64, Whose)>>,
    /// How many entries of the first chunk are gone.
    gone: usize,
    /// The time of the latest entry.
    last: u64,
}

impl Queue {
    fn is_empty(&self) -> bool {
        self.first().is_none()
    }

    fn push(&mut self, at: u64, whose: Whose) {
        if self.chunks.back().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.chunks.push_back(Vec::with_capacity(CHUNK));
        }
        if let Some(chunk) = self.chunks.back_mut() {
            chunk.push((at, whose));
        }
        self.last = at;
    }

    fn first(&self) -> Option<(u64, Whose)> {
        self.chunks.front()?.get(self.gone).copied()
    }

    fn pop(&mut self, look: impl FnMut(Whose)) {
        self.gone += 1;
        if self.gone.is_multiple_of(AHEAD) {
            self.ahead().for_each(look);
        }
        if self.gone == CHUNK {
            self.chunks.pop_front();
            self.gone = 0;
        } else if self.chunks.len() == 1
            && let Some(only) = self.chunks.front_mut()
            && only.len() == self.gone
        {
            only.clear();
            self.gone = 0;
        }
    }

    /// The calls of the entries that come when as many others have gone.
    fn ahead(&self) -> impl Iterator<Item = Whose> {
        let entries = self.chunks.iter().take(2).flatten().skip(self.gone + AHEAD).take(AHEAD);
        entries.map(|&(_, whose)| whose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdoff_core::Rng;

    #[test]
    fn events_come_in_the_order_of_their_times() {
        let mut agenda = Agenda::default();
        let mut rng = Rng::new(1);
        let mut planned: Vec<_> = (0..30_000).map(|slot| ((rng.uniform() * 500.0) as u64, slot)).collect();
        let events = [Event::Answer, Event::Refusal, Event::Error, Event::Timeout, Event::Wake];
        for (&(at, slot), event) in planned.iter().zip(events.into_iter().cycle()) {
            agenda.plan(at, Whose { slot, pair: 0 }, event);
        }
        planned.sort_unstable();
        assert!(agenda.next(0, |_| ()).is_none());
        let came = std::iter::from_fn(|| agenda.next(u64::MAX, |_| ()));
        let mut came: Vec<_> = came.map(|(at, whose, _)| (at, whose.slot)).collect();
        assert!(came.is_sorted_by_key(|&(at, _)| at));
        came.sort_unstable();
        assert_eq!(came, planned);
    }

    #[test]
    fn an_event_that_is_planned_before_all_others_comes_first() {
        let mut agenda = Agenda::default();
        let second = 1_000_000_000;
        for at in [9 * second, 5 * second, 5 * second + 1, 7 * second] {
            agenda.plan(at, Whose { slot: 0, pair: 0 }, Event::Wake);
        }
        // To look for the first one goes on to its bucket.
        assert!(agenda.next(second, |_| ()).is_none());
        for at in [3 * second, 2 * second, 5 * second - 1, 2 * second + 1] {
            agenda.plan(at, Whose { slot: 0, pair: 0 }, Event::Wake);
        }
        let came: Vec<_> = std::iter::from_fn(|| agenda.next(u64::MAX, |_| ())).map(|(at, ..)| at).collect();
        let seconds = [2 * second, 2 * second + 1, 3 * second, 5 * second - 1, 5 * second, 5 * second + 1];
        assert_eq!(came, [&seconds[..], &[7 * second, 9 * second]].concat());
    }

    #[test]
    fn a_queue_keeps_its_order_over_chunks_and_shows_what_comes_soon() {
        let mut queue = Queue::default();
        let mut shown = Vec::new();
        for at in 0..3 * CHUNK as u64 {
            queue.push(at, Whose { slot: at as u32, pair: 0 });
        }
        for at in 0..3 * CHUNK as u64 {
            assert_eq!(queue.first().map(|(at, _)| at), Some(at));
            queue.pop(|whose| shown.push(whose.slot));
        }
        assert!(queue.is_empty());
        assert_eq!(shown, (2 * AHEAD as u32..3 * CHUNK as u32).collect::<Vec<_>>());
    }
}
