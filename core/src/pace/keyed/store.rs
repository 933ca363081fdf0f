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
/// is no use. [`Keyed::entry_at_rest`] is for states that must not be lost while they are in use, and not to be mixed with the others.
/// Time is monotonic: a `now` before the latest one reads as that one (spec 1.3). Everything takes logarithmic
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
    /// The state of the keys that found no room.
    shared: Option<S>,
}

/// How many keys in use are passed over at each use, to find one at rest.
const LOOKS: u32 = 16;

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
        Self { slots, by_use, uses: 0, most: most.max(1), idle, latest: Timestamp::ZERO, shared: None }
    }

    /// The state of `key` at `now`, made by `make` if there is none.
    pub fn entry(&mut self, key: K, now: Timestamp, make: impl FnOnce() -> S) -> &mut S {
        self.collect_idle(now);
        if self.slots.len() >= self.most && !self.slots.contains_key(&key) {
            self.give_up_oldest();
        }
        self.used(key, make)
    }

    /// The same for states that must not be lost while they are in use: only a key whose state is `at_rest` is given up or forgotten as
    /// idle. If the 16 keys used longest ago are in use, a new key gets a state that it shares with other new keys, made by
    /// `make(true)`. Once that state is at rest, new keys get states of their own again (spec 21.4). So a key keeps its
    /// state while that state is in use.
    pub fn entry_at_rest(
        &mut self,
        key: K,
        now: Timestamp,
        mut at_rest: impl FnMut(&S) -> bool,
        make: impl FnOnce(bool) -> S,
    ) -> &mut S {
        self.latest = self.latest.max(now.as_now());
        let mut in_use = 0u32;
        while let Some((last_use, oldest)) = self.by_use.first_key_value()
            && in_use < LOOKS
        {
            let is_full = self.slots.len() >= self.most && !self.slots.contains_key(&key);
            if !is_full && !self.is_idle(*last_use, self.latest) {
                break;
            }
            if self.slots.get(oldest).is_none_or(|slot| at_rest(&slot.state)) {
                self.give_up_oldest();
            } else if let Some((_, oldest)) = self.by_use.pop_first() {
                in_use = in_use.saturating_add(1);
                // The next use looks at others first.
                let last_use = self.next_use();
                if let Some(slot) = self.slots.get_mut(&oldest) {
                    slot.last_use = last_use;
                }
                self.by_use.insert(last_use, oldest);
            }
        }
        if self.slots.contains_key(&key) {
            return self.used(key, || make(false));
        }
        if self.slots.len() >= self.most || self.shared.as_ref().is_some_and(|shared| !at_rest(shared)) {
            return self.shared.get_or_insert_with(|| make(true));
        }
        self.shared = None;
        self.used(key, || make(false))
    }

    fn next_use(&mut self) -> Use {
        let next = (self.latest, self.uses);
        self.uses = self.uses.wrapping_add(1);
        next
    }

    /// The state of a key for which there is room, as used now.
    fn used(&mut self, key: K, make: impl FnOnce() -> S) -> &mut S {
        let last_use = self.next_use();
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
    use crate::BreakerConfig;
    use crate::decide::guarded::Guards;
    use crate::decide::guards::breaker::{Breaker, Verdict};
    use crate::decide::guards::bulkhead::{Bulkhead, BulkheadConfig, Entry as Entering};
    use crate::pace::keyed::config::GateConfig;
    use crate::pace::keyed::gate::Gate;
    use proptest::prelude::*;
    use std::cell::RefCell;
    use std::rc::Rc;
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
        /// Ten times more keys than room: a state in use is never lost, nor doubled.
        #[test]
        fn a_state_in_use_is_kept(inputs in prop::collection::vec((0u64..80, 0u64..50, any::<bool>()), 1..600), idle in 0u64..100) {
            let mut keyed = Keyed::new(8, ns(idle));
            // How many use the state that a key has, by the number of the state; and the state that each key in use had.
            let mut users: std::collections::HashMap<u64, u64> = std::collections::HashMap::new();
            let mut held: Vec<(u64, u64)> = Vec::new();
            let (mut now, mut made) = (0, 0);
            for (key, gap, leaves) in inputs {
                now += gap;
                if leaves && !held.is_empty() {
                    let (_, state) = held.swap_remove(key as usize % held.len());
                    *users.get_mut(&state).unwrap() -= 1;
                    continue;
                }
                let in_use = |state: &u64| users.get(state).is_none_or(|users| *users == 0);
                let state = *keyed.entry_at_rest(key, at(now), in_use, |_| { made += 1; made });
                for (other, earlier) in &held {
                    prop_assert!(*other != key || *earlier == state, "key {} changed its state in use", key);
                }
                *users.entry(state).or_default() += 1;
                held.push((key, state));
                prop_assert!(keyed.len() <= 8 && keyed.by_use.len() == keyed.len());
            }
        }

        /// A breaker that opens for a second after one failure and a bulkhead of one, ten times more keys than room, random traffic.
        #[test]
        fn guards_in_use_are_kept(inputs in prop::collection::vec((0usize..80, 0u64..200, 0u8..4), 1..600), idle in 0u64..3) {
            let breaker = BreakerConfig::consecutive(1, Span::from_secs(1)).unwrap();
            let bulkhead = BulkheadConfig::new(1, 0, Span::ZERO).unwrap();
            let millis = |millis: u64| at(millis * 1_000_000);
            type Set = Rc<RefCell<(Breaker, Bulkhead)>>;
            let mut keyed: Keyed<usize, Set> = Keyed::new(8, Span::from_secs(idle));
            let (mut closed_until, mut running, mut sets) = ([0; 80], Vec::new(), Vec::new());
            let mut now = 10_000;
            for (key, gap, action) in inputs {
                now += gap;
                if action < 2 && !running.is_empty() {
                    let (key, set, permit): (usize, Set, _) = running.swap_remove(key % running.len());
                    let verdict = if action == 0 { Verdict::Failure } else { Verdict::Success };
                    let mut guards = set.borrow_mut();
                    guards.0.record(&breaker, permit, millis(now), verdict, Span::ZERO);
                    guards.1.leave();
                    if action == 0 {
                        closed_until[key] = now + 1000;
                    }
                    continue;
                }
                let at_rest = |set: &Set| {
                    let (one, other) = &mut *set.borrow_mut();
                    let guards = Guards {
                        breaker: Some((&breaker, one)), bulkhead: Some((&bulkhead, other, &mut [])), ..Guards::none()
                    };
                    guards.is_at_rest(millis(now))
                };
                let set = Rc::clone(keyed.entry_at_rest(key, millis(now), at_rest, |_| {
                    let set = Rc::new(RefCell::new((Breaker::new(&breaker, 0, millis(now)), Bulkhead::new())));
                    sets.push(Rc::downgrade(&set));
                    set
                }));
                sets.retain(|set| set.strong_count() > 0);
                prop_assert!(keyed.len() <= 8 && sets.len() <= 9, "{} keys, {} sets", keyed.len(), sets.len());
                let mut guards = set.borrow_mut();
                if !matches!(guards.1.enter(&bulkhead, &mut []), Entering::Entered) {
                    continue;
                }
                match guards.0.acquire(&breaker, millis(now)) {
                    Err(_) => guards.1.leave(),
                    Ok(permit) => {
                        prop_assert!(now >= closed_until[key], "the breaker of {} closed early", key);
                        prop_assert!(running.iter().all(|(other, ..)| *other != key), "two calls of {}", key);
                        running.push((key, Rc::clone(&set), permit));
                    }
                }
            }
        }

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
