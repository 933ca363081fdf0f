//! The guards that a recorded call shares with others: JavaScript has their states, and the module for guards works on them.

use super::ffi::{Answer, FromJs, Words, from_words, property, to_words};
use holdoff_core::{Error, GuardConfig, Guards, Timestamp, each_guard};
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

/// A guard of a set: its configuration, its state and the words that it borrows.
pub(super) struct Guard<C: GuardConfig> {
    config: C,
    state: C::State,
    words: Vec<u64>,
}

impl<C: GuardConfig + Words> Guard<C>
where
    C::State: Words,
{
    fn read(guard: &JsValue) -> Answer<Option<Self>> {
        let (config, state) = (property(guard, "config")?, property(guard, "words")?);
        let words = property(guard, "storage")?.dyn_into::<Uint32Array>().map_or_else(
            |_| Vec::new(),
            |storage| {
                let word = |half: &[u32]| u64::from(half[1]) << 32 | u64::from(half[0]);
                storage.to_vec().chunks_exact(2).map(word).collect()
            },
        );
        let read = from_words(&config).zip(from_words(&state));
        Ok(read.map(|(config, state)| Self { config, state, words }))
    }

    fn write(&self, guard: &JsValue) -> Answer<()> {
        property(guard, "words")?.unchecked_into::<Uint32Array>().copy_from(&to_words(&self.state));
        if let Ok(storage) = property(guard, "storage")?.dyn_into::<Uint32Array>() {
            let halves = self.words.iter().flat_map(|word| [*word as u32, (word >> 32) as u32]);
            storage.copy_from(&halves.collect::<Vec<_>>());
        }
        Ok(())
    }

    fn lend(&mut self) -> C::Lent<'_> {
        self.config.lend(&mut self.state, &mut self.words)
    }

    fn saved(&self, now: Timestamp) -> Vec<u8> {
        let mut bytes = vec![0; self.config.saved()];
        self.config.save(&self.state, &self.words, now, &mut bytes);
        bytes
    }

    fn restore(&mut self, bytes: &[u8], now: Timestamp) -> Result<(), Error> {
        self.state = self.config.restore(bytes, &mut self.words, now)?;
        Ok(())
    }
}

/// Declares the guards of a set, by the index that each has in JavaScript.
macro_rules! states {
    ($($(#[$doc:meta])* $name:ident: $class:ident $memory:ident, $config:ty, $state:ty $(, $words:ident)?;)*) => {
        #[derive(Default)]
        pub(super) struct States {
            $($name: Option<Guard<$config>>,)*
        }

        impl States {
            pub(super) fn read(&mut self, guard: &JsValue) -> Answer<()> {
                match name_of(guard)? {
                    $(stringify!($name) => self.$name = Guard::read(guard)?,)*
                    _ => {}
                }
                Ok(())
            }

            pub(super) fn write(&mut self, guard: &JsValue) -> Answer<()> {
                match name_of(guard)? {
                    $(stringify!($name) => self.$name.as_ref().map_or(Ok(()), |known| known.write(guard)),)*
                    _ => Ok(()),
                }
            }

            fn lend(&mut self) -> Guards<'_> {
                Guards { $($name: self.$name.as_mut().map(Guard::lend),)* }
            }

            /// The state of the guard with that name; empty for a guard that is not saved.
            pub(super) fn saved(&self, name: &str, now: Timestamp) -> Vec<u8> {
                match name {
                    $(stringify!($name) => self.$name.as_ref().map_or_else(Vec::new, |guard| guard.saved(now)),)*
                    _ => Vec::new(),
                }
            }

            /// Gives the guard with that name a saved state, if there is such a guard; `None` for any other name.
            pub(super) fn restore(&mut self, name: &str, bytes: &[u8], now: Timestamp) -> Result<(), Error> {
                match name {
                    $(stringify!($name) => self.$name.as_mut().map_or(Ok(()), |guard| guard.restore(bytes, now)),)*
                    _ => Ok(()),
                }
            }
        }

        /// The names of guards, by their index in JavaScript.
        pub(super) const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}
each_guard!(states);

/// The name of a guard of JavaScript's.
pub(super) fn name_of(guard: &JsValue) -> Answer<&'static str> {
    let index = u32::from_js(&property(guard, "index")?, "index")?;
    Ok(NAMES.get(index as usize).copied().unwrap_or_default())
}

/// Works under the guards of a set, if there is one.
pub(super) fn under<T>(guards: Option<&SharedGuards>, work: impl FnOnce(&mut Guards<'_>) -> T) -> Answer<T> {
    let Some(guards) = guards else { return Ok(work(&mut Guards::none())) };
    let (all, mut states) = (guards.take(), States::default());
    all.iter().try_for_each(|guard| states.read(&guard))?;
    let done = work(&mut states.lend());
    all.iter().try_for_each(|guard| states.write(&guard))?;
    guards.notify()?;
    Ok(done)
}
