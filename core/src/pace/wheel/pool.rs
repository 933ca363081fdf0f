//! The memory of all buckets: lists of small chunks, so that no bucket has capacity of its own to spare.

use super::key::{TimerKey, WheelFull};
use super::segments::Segments;

/// How many entries a chunk has room for: as many as four cache lines hold.
pub(super) const CHUNK: usize = 16;
/// No chunk.
const NONE: u32 = u32::MAX;
/// The most entries that a list counts before it takes another chunk.
const MOST: u32 = u32::MAX - CHUNK as u32;

/// A timer in a bucket. When it was cancelled its key is no longer known, which is all that says so.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) at: u64,
    pub(super) key: TimerKey,
}

impl Entry {
    pub(super) const NOTHING: Self = Self { at: u64::MAX, key: TimerKey::new(0, 0) };
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Chunk([Entry; CHUNK]);

/// Entries in the order in which they came. All chunks are full but the last.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    head: u32,
    tail: u32,
    count: u32,
}

impl List {
    pub(super) const EMPTY: Self = Self { head: NONE, tail: NONE, count: 0 };

    pub(super) const fn count(&self) -> usize {
        self.count as usize
    }

    /// How many entries the first chunk has.
    #[inline(always)]
    pub(super) const fn in_first(&self) -> usize {
        if self.count() < CHUNK { self.count() } else { CHUNK }
    }
}

#[derive(Debug)]
pub(super) struct Pool {
    chunks: Segments<Chunk, 6>,
    /// The chunk after each, in its list or among the free ones. Apart from the chunks, so that a walk knows where to go
    /// before it has read where it is.
    links: Segments<u32, 12>,
    free: u32,
    free_count: usize,
}

impl Pool {
    pub(super) const fn new() -> Self {
        Self { chunks: Segments::new(), links: Segments::new(), free: NONE, free_count: 0 }
    }

    /// Makes sure that `chunks` are free, or can be had without asking for memory.
    pub(super) fn reserve(&mut self, chunks: usize) -> Result<(), WheelFull> {
        let more = chunks.saturating_sub(self.free_count);
        self.links.reserve(more)?;
        self.chunks.reserve(more)
    }

    /// Appends an entry, given as two words, since one in memory would be written in halves and read as a whole.
    #[inline]
    pub(super) fn push(&mut self, list: &mut List, at: u64, key: TimerKey) -> Result<(), WheelFull> {
        let place = list.count as usize % CHUNK;
        if place == 0 {
            return self.push_chunk(list, at, key);
        }
        let chunk = self.chunks.get_mut(list.tail).ok_or(WheelFull)?;
        if let Some(held) = chunk.0.get_mut(place) {
            *held = Entry { at, key };
        }
        list.count = list.count.wrapping_add(1);
        Ok(())
    }

    fn push_chunk(&mut self, list: &mut List, at: u64, key: TimerKey) -> Result<(), WheelFull> {
        if list.count > MOST {
            return Err(WheelFull);
        }
        let new = self.take()?;
        if let Some(chunk) = self.chunks.get_mut(new)
            && let Some(held) = chunk.0.first_mut()
        {
            *held = Entry { at, key };
        }
        if list.count == 0 {
            list.head = new;
        } else {
            self.link(list.tail, new);
        }
        list.tail = new;
        list.count = list.count.wrapping_add(1);
        Ok(())
    }

    /// The entries of a list's first chunk.
    #[inline(always)]
    pub(super) fn first_chunk(&self, list: &List) -> &[Entry; CHUNK] {
        self.chunks.get(list.head).map_or(&[Entry::NOTHING; CHUNK], |chunk| &chunk.0)
    }

    /// Takes a list's first chunk away.
    #[inline]
    pub(super) fn shift(&mut self, list: &mut List) {
        let head = list.head;
        list.count = list.count.wrapping_sub(list.in_first() as u32);
        list.head = self.next(head);
        self.release(head);
    }

    /// Keeps the entries that `keep` wants, in their order and in their own memory.
    pub(super) fn retain(&mut self, list: &mut List, mut keep: impl FnMut(&Entry) -> bool) {
        let mut kept = List { head: list.head, tail: list.head, count: 0 };
        let (mut from, mut left) = (list.head, list.count as usize);
        while left > 0 {
            let Some(chunk) = self.chunks.get(from).copied() else {
                break;
            };
            let next = self.next(from);
            for entry in chunk.0.iter().take(left).filter(|entry| keep(entry)) {
                let place = kept.count as usize % CHUNK;
                if place == 0 && kept.count > 0 {
                    // Never further than the chunk that was read last.
                    kept.tail = self.next(kept.tail);
                }
                if let Some(held) = self.chunks.get_mut(kept.tail).and_then(|chunk| chunk.0.get_mut(place)) {
                    *held = *entry;
                }
                kept.count = kept.count.wrapping_add(1);
            }
            left = left.saturating_sub(CHUNK);
            from = next;
        }
        let (used, had) = ((kept.count as usize).div_ceil(CHUNK), (list.count as usize).div_ceil(CHUNK));
        let mut rest = if used == 0 { list.head } else { self.next(kept.tail) };
        for _ in used..had {
            let next = self.next(rest);
            self.release(rest);
            rest = next;
        }
        *list = if used == 0 { List::EMPTY } else { kept };
    }

    fn take(&mut self) -> Result<u32, WheelFull> {
        if self.free != NONE {
            let taken = self.free;
            self.free = self.next(taken);
            self.free_count = self.free_count.wrapping_sub(1);
            return Ok(taken);
        }
        let new = u32::try_from(self.chunks.len()).ok().filter(|new| *new < NONE).ok_or(WheelFull)?;
        self.reserve(1)?;
        self.links.push(NONE)?;
        self.chunks.push(Chunk([Entry::NOTHING; CHUNK]))?;
        Ok(new)
    }

    fn release(&mut self, chunk: u32) {
        self.link(chunk, self.free);
        self.free = chunk;
        self.free_count = self.free_count.wrapping_add(1);
    }

    #[inline(always)]
    fn next(&self, chunk: u32) -> u32 {
        self.links.get(chunk).copied().unwrap_or(NONE)
    }

    #[inline(always)]
    fn link(&mut self, chunk: u32, next: u32) {
        if let Some(link) = self.links.get_mut(chunk) {
            *link = next;
        }
    }

    /// How many chunks there are, and how many of them are free.
    #[cfg(test)]
    pub(super) const fn chunks(&self) -> (usize, usize) {
        (self.chunks.len(), self.free_count)
    }
}
