//! States of guards that last, to go on in another process, on another clock, or in another language.

use super::arguments::Argument;
use super::ffi::{Answer, FromJs, entries, fail, functions, is_fields, js_types, misuse, put};
use super::shared::{SharedGuards, States, index_of};
use holdoff_core::{Adaptive, Breaker, Budget, Error, ErrorCode, Latency, Limiter, Section, Stretch, Timestamp};
use js_sys::{Object, Uint8Array};
use wasm_bindgen::prelude::*;

js_types! {
    GuardsObject = "GuardSet",
    SavedGuards = "SavedGuards",
}

functions! {
    /// The states of a set of guards at `now`: bytes by the names of the guards.
    fn saveGuards(guards: Argument<GuardsObject>, now: Timestamp) -> SavedGuards {
        let (saved, mut states) = (Object::new(), States::default());
        for guard in SharedGuards::from_js(&guards.0, "guards")?.take() {
            states.read(&guard)?;
            let index = index_of(&guard)?;
            if let Some(bytes) = states.saved(index, now) {
                put(&saved, name_of(index), &Uint8Array::from(bytes.as_slice()));
            }
        }
        JsValue::from(saved).unchecked_into()
    }

    /// Gives the guards of a set the states that were saved.
    fn restoreGuards(guards: Argument<GuardsObject>, saved: Argument<SavedGuards>, now: Timestamp) -> () {
        let guards = SharedGuards::from_js(&guards.0, "guards")?;
        if !is_fields(&saved.0) {
            return Err(misuse(ErrorCode::WrongType, "saved", &saved.0));
        }
        let (all, mut states) = (guards.take(), States::default());
        all.iter().try_for_each(|guard| states.read(&guard))?;
        for (name, value) in entries(&saved.0)? {
            let path = format!("saved.{name}");
            let index = (0..GUARDS).find(|index| name_of(*index) == name);
            let index = index.ok_or_else(|| misuse(ErrorCode::UnknownField, &path, &value))?;
            if value.is_undefined() || value.is_null() {
                continue;
            }
            let bytes = value.dyn_ref::<Uint8Array>().ok_or_else(|| misuse(ErrorCode::WrongType, &path, &value))?;
            states.restore(index, &bytes.to_vec(), now).map_err(|error| fail(&error, &path, &JsValue::UNDEFINED))?;
        }
        all.iter().try_for_each(|guard| states.write(&guard))?;
        guards.notify()?
    }
}

/// How many guards a set has at most: every section but nesting.
const GUARDS: u32 = Section::GUARDS.len() as u32 - 1;

fn name_of(index: u32) -> &'static str {
    Section::GUARDS[index as usize].name
}

impl States {
    fn saved(&self, index: u32, now: Timestamp) -> Option<Vec<u8>> {
        macro_rules! saved {
            ($guard:ident) => {
                self.$guard.as_ref().map(|(config, state)| state.save(config, now).into())
            };
        }
        match index {
            0 => saved!(budget),
            1 => saved!(breaker),
            2 => {
                let (config, limiter) = self.limiter.as_ref()?;
                let mut bytes = vec![0; Limiter::saved(config)];
                limiter.save(config, &self.times, now, &mut bytes).map(|_| bytes)
            }
            4 => saved!(adaptive),
            5 => saved!(stretch),
            6 => self.hedge.as_ref().map(|(_, latency)| latency.save().into()),
            _ => None,
        }
    }

    fn restore(&mut self, index: u32, bytes: &[u8], now: Timestamp) -> Result<(), Error> {
        macro_rules! restore {
            ($guard:ident: $state:ty) => {
                if let Some((config, state)) = &mut self.$guard {
                    *state = <$state>::restore(bytes, config, now)?;
                }
            };
        }
        match index {
            0 => restore!(budget: Budget),
            1 => restore!(breaker: Breaker),
            2 => {
                if let Some((config, state)) = &mut self.limiter {
                    *state = Limiter::restore(bytes, config, &mut self.times, now)?;
                }
            }
            4 => restore!(adaptive: Adaptive),
            5 => restore!(stretch: Stretch),
            6 => {
                if let Some((_, state)) = &mut self.hedge {
                    *state = Latency::restore(bytes)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}
