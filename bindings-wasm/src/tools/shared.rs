//! The guards that a recorded call shares with others: JavaScript has their states, and the module for guards works on them.

use super::ffi::{Answer, FromJs, from_words, property, to_words};
use holdoff_core::{
    Adaptive, AdaptiveConfig, Breaker, BreakerConfig, Budget, BudgetConfig, Bulkhead, BulkheadConfig, Guards,
    HedgeConfig, Latency, Limiter, LimiterConfig, Stretch, StretchConfig,
};
use js_sys::{Array, Uint32Array};
use wasm_bindgen::prelude::*;

#[wasm_bindgen(raw_module = "./ffi.ts")]
extern "C" {
    pub type SharedGuards;
    /// The guards of a set, their states up to date. Throws a ConfigError about a value that is no set of guards.
    #[wasm_bindgen(catch, js_name = checkGuards)]
    fn check_guards(guards: &JsValue) -> Answer<SharedGuards>;
    /// The guards, their states read back from the module for guards.
    #[wasm_bindgen(method)]
    pub(super) fn take(this: &SharedGuards) -> Array;
    /// Wakes the calls that wait for a place in the bulkhead.
    #[wasm_bindgen(method, catch)]
    pub(super) fn notify(this: &SharedGuards) -> Answer<()>;
}

impl FromJs for SharedGuards {
    type Js = JsValue;
    fn from_js(value: &JsValue, _: &str) -> Answer<Self> {
        check_guards(value)
    }
}

/// The states of a set's guards, by the index that each has in JavaScript.
macro_rules! states {
    ($($index:literal $guard:ident: $config:ty, $state:ty;)+) => {
        #[derive(Default)]
        pub(super) struct States {
            $(pub(super) $guard: Option<($config, $state)>,)+
            /// The times of a limiter's log, and the places of a bulkhead's long queue.
            pub(super) times: Vec<u64>,
            places: Vec<u64>,
        }

        impl States {
            pub(super) fn read(&mut self, guard: &JsValue) -> Answer<()> {
                let (config, words) = (property(guard, "config")?, property(guard, "words")?);
                match index_of(guard)? {
                    $($index => self.$guard = from_words(&config).zip(from_words(&words)),)+
                    _ => {}
                }
                if let Ok(storage) = property(guard, "storage")?.dyn_into::<Uint32Array>() {
                    let halves = storage.to_vec();
                    let word = |half: &[u32]| u64::from(half[1]) << 32 | u64::from(half[0]);
                    *self.storage(index_of(guard)?) = halves.chunks_exact(2).map(word).collect();
                }
                Ok(())
            }

            /// The words of the guard with that index, a limiter or a bulkhead.
            fn storage(&mut self, index: u32) -> &mut Vec<u64> {
                if index == LIMITER { &mut self.times } else { &mut self.places }
            }

            pub(super) fn write(&mut self, guard: &JsValue) -> Answer<()> {
                let words = match index_of(guard)? {
                    $($index => self.$guard.as_ref().map(|(_, state)| to_words(state)),)+
                    _ => None,
                };
                property(guard, "words")?.unchecked_into::<Uint32Array>().copy_from(&words.unwrap_or_default());
                if let Ok(storage) = property(guard, "storage")?.dyn_into::<Uint32Array>() {
                    let words = self.storage(index_of(guard)?).iter();
                    storage.copy_from(&words.flat_map(|word| [*word as u32, (word >> 32) as u32]).collect::<Vec<_>>());
                }
                Ok(())
            }
        }
    };
}

const LIMITER: u32 = 2;

states! {
    0 budget: BudgetConfig, Budget;
    1 breaker: BreakerConfig, Breaker;
    2 limiter: LimiterConfig, Limiter;
    3 bulkhead: BulkheadConfig, Bulkhead;
    4 adaptive: AdaptiveConfig, Adaptive;
    5 stretch: StretchConfig, Stretch;
    6 hedge: HedgeConfig, Latency;
}

pub(super) fn index_of(guard: &JsValue) -> Answer<u32> {
    u32::from_js(&property(guard, "index")?, "index")
}

/// The two halves of a guard, apart.
fn borrow<C, S>(guard: &mut Option<(C, S)>) -> Option<(&C, &mut S)> {
    guard.as_mut().map(|(config, state)| (&*config, state))
}

/// Works under the guards of a set, if there is one.
pub(super) fn under<T>(guards: Option<&SharedGuards>, work: impl FnOnce(&mut Guards<'_>) -> T) -> Answer<T> {
    let Some(guards) = guards else { return Ok(work(&mut Guards::none())) };
    let (all, mut states) = (guards.take(), States::default());
    all.iter().try_for_each(|guard| states.read(&guard))?;
    let (times, places) = (states.times.as_mut_slice(), states.places.as_mut_slice());
    let done = work(&mut Guards {
        budget: borrow(&mut states.budget),
        breaker: borrow(&mut states.breaker),
        limiter: borrow(&mut states.limiter).map(|(config, limiter)| (config, limiter, times)),
        adaptive: borrow(&mut states.adaptive),
        bulkhead: borrow(&mut states.bulkhead).map(|(config, bulkhead)| (config, bulkhead, places)),
        stretch: borrow(&mut states.stretch),
        hedge: borrow(&mut states.hedge),
    });
    all.iter().try_for_each(|guard| states.write(&guard))?;
    guards.notify()?;
    Ok(done)
}
