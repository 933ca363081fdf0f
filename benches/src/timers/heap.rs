//! The standard heap, with a number a timer that says whether it was cancelled.

use super::Timers;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A heap of (at, id, generation), and the generation of each timer that lives.
#[derive(Debug)]
pub struct Heap {
    heap: BinaryHeap<Reverse<(u64, u32, u32)>>,
    generations: Vec<u32>,
}

impl Timers for Heap {
    type Key = u32;

    fn new(most: usize) -> Self {
        Self { heap: BinaryHeap::new(), generations: vec![0; most] }
    }

    #[inline(always)]
    fn start(&mut self, at_ms: u64, id: u32) -> u32 {
        self.heap.push(Reverse((at_ms, id, self.generations[id as usize])));
        id
    }

    #[inline(always)]
    fn cancel(&mut self, id: u32) {
        self.generations[id as usize] += 1;
    }

    #[inline(always)]
    fn step(&mut self, now_ms: u64, due: &mut Vec<u32>) {
        while let Some(Reverse((at, id, generation))) = self.heap.peek().copied()
            && at <= now_ms
        {
            self.heap.pop();
            if self.generations[id as usize] == generation {
                self.generations[id as usize] += 1;
                due.push(id);
            }
        }
    }
}
