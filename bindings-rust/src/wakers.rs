//! Tasks that wait for a guard: each under a key, woken together or in the order of their keys.

use std::collections::BTreeMap;
use std::task::Waker;

/// The wakers of tasks by their keys. Not locked: its owner locks it together with the guard.
#[derive(Default, Debug)]
pub(crate) struct Wakers {
    next: u64,
    wakers: BTreeMap<u64, Waker>,
}

impl Wakers {
    /// Puts a waker under its key, a new one if there is none yet; the waker that was there. Drop that one without the lock:
    /// dropping a waker can drop a task, whose own futures come back for it.
    pub(crate) fn put(&mut self, key: &mut Option<u64>, waker: &Waker) -> Option<Waker> {
        let key = *key.get_or_insert_with(|| {
            self.next = self.next.wrapping_add(1);
            self.next
        });
        self.put_at(key, waker)
    }

    /// Puts a waker under a key; the waker that was there, to be dropped without the lock.
    pub(crate) fn put_at(&mut self, key: u64, waker: &Waker) -> Option<Waker> {
        self.wakers.insert(key, waker.clone())
    }

    /// Takes away what is under a key; to be dropped without the lock.
    pub(crate) fn remove(&mut self, key: u64) -> Option<Waker> {
        self.wakers.remove(&key)
    }

    /// Takes the first `count` of them, to be woken without the lock.
    pub(crate) fn take_first(&mut self, count: u32) -> Vec<Waker> {
        (0..count).map_while(|_| self.wakers.pop_first()).map(|(_, waker)| waker).collect()
    }

    /// Takes all of them, to be woken without the lock.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Waker> + use<> {
        std::mem::take(&mut self.wakers).into_values()
    }
}
