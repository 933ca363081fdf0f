//! A map that cannot grow without end.

use crate::time::{Span, Timestamp};
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use core::borrow::Borrow;

/// One state a key, bounded by the number of keys and by how long a key may go unused.
///
/// # Contract
/// [`Keyed::entry`] uses a key: makes its state if there is none, and makes it the last to be given up. When a new key finds
/// the map full, the least recently used key is given up. A key that was last used more than the idle time ago is gone,
/// whether or not anything has removed it yet; [`Keyed::entry`] and [`Keyed::collect_idle`] do. Looking with [`Keyed::peek`]
/// is no use. Time is monotonic: a `now` before the latest one reads as that one (spec 1.3). Everything takes logarithmic
/// time in the number of keys, each removal included; [`Keyed::retain`] looks at all of them.
#[derive(Clone, Debug)]
pub struct Keyed<K, S> {
    slots: BTreeMap<K, Slot<S>>,
    /// The keys in the order of their last uses.
    by_use: BTreeMap<Use, K>,
    /// The number of the next use.
    uses: u64,
    most: usize,
    idle: Span,
    latest: Timestamp,
}

/// The time of a use, and its number among all uses.
type Use = (Timestamp, u64);

#[derive(Clone, Debug)]
struct Slot<S> {
    state: S,
    last_use: Use,
}

impl<K: Ord + Clone, S> Keyed<K, S> {
    /// A map of at most `most` keys (at least one) that forgets those unused for more than `idle`; [`Span::MAX`] for never.
    pub fn new(most: usize, idle: Span) -> Self {
        let (slots, by_use) = (BTreeMap::new(), BTreeMap::new());
        Self { slots, by_use, uses: 0, most: most.max(1), idle, latest: Timestamp::ZERO }
    }

    /// The state of `key` at `now`, made by `make` if there is none.
    pub fn entry(&mut self, key: K, now: Timestamp, make: impl FnOnce() -> S) -> &mut S {
        self.collect_idle(now);
        if self.slots.len() >= self.most && !self.slots.contains_key(&key) {
            self.give_up_oldest();
        }
        let last_use = (self.latest, self.uses);
        self.uses = self.uses.wrapping_add(1);
        match self.slots.entry(key) {
            Entry::Occupied(slot) => {
                let slot = slot.into_mut();
                if let Some(key) = self.by_use.remove(&slot.last_use) {
                    self.by_use.insert(last_use, key);
                }
                slot.last_use = last_use;
                &mut slot.state
            }
            Entry::Vacant(slot) => {
                // It may panic, so it comes first.
                let state = make();
                self.by_use.insert(last_use, slot.key().clone());
                &mut slot.insert(Slot { state, last_use }).state
            }
        }
    }

    /// The state of `key` at `now`, without using it.
    pub fn peek<Q: Ord + ?Sized>(&self, key: &Q, now: Timestamp) -> Option<&S>
    where
        K: Borrow<Q>,
    {
        let slot = self.slots.get(key)?;
        if self.is_idle(slot.last_use, now.as_now().max(self.latest)) { None } else { Some(&slot.state) }
    }

    /// Removes a key and says its state.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<S>
    where
        K: Borrow<Q>,
    {
        let slot = self.slots.remove(key)?;
        self.by_use.remove(&slot.last_use);
        Some(slot.state)
    }

    /// Removes the keys that were last used more than the idle time before `now`, and says how many.
    pub fn collect_idle(&mut self, now: Timestamp) -> usize {
        self.latest = self.latest.max(now.as_now());
        let before = self.slots.len();
        while let Some((last_use, _)) = self.by_use.first_key_value()
            && self.is_idle(*last_use, self.latest)
        {
            self.give_up_oldest();
        }
        before.saturating_sub(self.slots.len())
    }

    /// Removes the keys whose state `keep` refuses, and says how many: with [`crate::Gate::is_discardable`] the collection of
    /// garbage that Kubernetes' `flowcontrol.Backoff` has.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &S) -> bool) -> usize {
        let before = self.slots.len();
        let by_use = &mut self.by_use;
        self.slots.retain(|key, slot| {
            let keep = keep(key, &slot.state);
            if !keep {
                by_use.remove(&slot.last_use);
            }
            keep
        });
        before.saturating_sub(self.slots.len())
    }

    /// The keys and their states in the order of the keys, those included that are idle and not yet removed.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &S)> {
        self.slots.iter().map(|(key, slot)| (key, &slot.state))
    }

    /// How many keys it holds, those included that are idle and not yet removed.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Says if the map holds no key.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    fn is_idle(&self, (used, _): Use, now: Timestamp) -> bool {
        self.idle < Span::MAX && now.since(used) > self.idle
    }

    fn give_up_oldest(&mut self) {
        if let Some((_, key)) = self.by_use.pop_first() {
            self.slots.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::keyed::config::GateConfig;
    use crate::pace::keyed::gate::Gate;
    use proptest::prelude::*;
    use std::vec::Vec;

    const fn at(nanos: u64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    const fn ns(nanos: u64) -> Span {
        Span::from_nanos(nanos)
    }

    fn keys<S>(keyed: &Keyed<u64, S>) -> Vec<u64> {
        keyed.iter().map(|(key, _)| *key).collect()
    }

    #[test]
    fn the_key_that_was_used_longest_ago_is_given_up() {
        let mut keyed = Keyed::new(2, Span::MAX);
        for key in [1, 2, 1, 3] {
            keyed.entry(key, at(0), || key * 10);
        }
        assert_eq!(keys(&keyed), [1, 3]);
        assert_eq!(*keyed.entry(1, at(0), || 0), 10);
    }

    #[test]
    fn a_state_that_cannot_be_made_leaves_nothing_behind() {
        let mut keyed = Keyed::new(1, Span::MAX);
        let panics = std::panic::AssertUnwindSafe(|| _ = keyed.entry(1, at(0), || panic!("oh")));
        assert!(std::panic::catch_unwind(panics).is_err());
        for key in [2, 3] {
            keyed.entry(key, at(0), || key);
        }
        assert_eq!(keys(&keyed), [3]);
    }

    #[test]
    fn an_idle_key_is_gone_before_it_is_removed() {
        let mut keyed = Keyed::new(9, ns(100));
        keyed.entry(1, at(0), || 'a');
        assert_eq!(keyed.peek(&1, at(100)), Some(&'a'));
        assert_eq!(keyed.peek(&1, at(101)), None);
        assert_eq!(*keyed.entry(1, at(101), || 'b'), 'b');
        assert_eq!((keyed.collect_idle(at(201)), keyed.collect_idle(at(202))), (0, 1));
        assert!(keyed.is_empty());
    }

    #[test]
    fn gates_that_mean_nothing_any_more_are_collected() {
        let config = GateConfig::flowcontrol(ns(10), ns(50), 0.0).unwrap();
        let mut keyed = Keyed::new(9, Span::MAX);
        for (key, now) in [(1, 0), (2, 60)] {
            keyed.entry(key, at(now), Gate::new).failure(&config, at(now), 0.0);
        }
        assert_eq!(keyed.retain(|_, gate| !gate.is_discardable(&config, at(101))), 1);
        assert_eq!(keys(&keyed), [2]);
    }

    #[test]
    fn a_million_keys_leave_nothing_behind() {
        let mut keyed = Keyed::new(1000, ns(1_000_000));
        for key in 0..1_000_000 {
            keyed.entry(key, at(key), Gate::new);
            assert!(keyed.len() <= 1000);
        }
        assert_eq!((keyed.len(), keyed.by_use.len()), (1000, 1000));
        assert_eq!(keyed.collect_idle(at(3_000_000)), 1000);
        assert_eq!((keyed.len(), keyed.by_use.len()), (0, 0));
    }

    /// The same as a list of (key, value, last use), the last one used at the end.
    struct Model {
        list: Vec<(u64, u64, u64)>,
        most: usize,
        idle: u64,
    }

    impl Model {
        fn entry(&mut self, key: u64, now: u64, value: u64) -> u64 {
            self.list.retain(|slot| now - slot.2 <= self.idle);
            let value = match self.list.iter().position(|slot| slot.0 == key) {
                Some(old) => self.list.remove(old).1,
                None => {
                    if self.list.len() == self.most {
                        self.list.remove(0);
                    }
                    value
                }
            };
            self.list.push((key, value, now));
            value
        }
    }

    proptest! {
        #[test]
        fn it_is_a_list_in_the_order_of_use(
            inputs in prop::collection::vec((0u64..12, 0u64..30, 0u8..6), 1..200), most in 1usize..8, idle in 0u64..100
        ) {
            let mut keyed = Keyed::new(most, ns(idle));
            let mut model = Model { list: Vec::new(), most, idle };
            let mut now = 0;
            for (value, (key, gap, input)) in inputs.into_iter().enumerate() {
                let value = value as u64;
                now += gap;
                match input {
                    0 => {
                        model.list.retain(|slot| slot.0 != key);
                        keyed.remove(&key);
                    }
                    1 => {
                        let found = model.list.iter().find(|slot| slot.0 == key && now - slot.2 <= idle);
                        prop_assert_eq!(keyed.peek(&key, at(now)), found.map(|slot| &slot.1));
                    }
                    2 => {
                        model.list.retain(|slot| slot.1 % 3 != 0);
                        keyed.retain(|_, value| value % 3 != 0);
                    }
                    _ => prop_assert_eq!(*keyed.entry(key, at(now), || value), model.entry(key, now, value)),
                }
                prop_assert_eq!(keyed.slots.len(), keyed.by_use.len());
                prop_assert!(keyed.len() <= most);
            }
        }
    }
}
