//! Policies as text: our document, and what other systems write.
#![allow(unsafe_code)]

use super::with;
use core::fmt;
use holdoff_core::{ForeignPolicy, Form, HostText, Options, Policy, Preset, Rules, Value, write_document};

/// `policy`, `rules` and the guards of `builder` as a JSON document, its lists of patterns empty. The length.
#[unsafe(no_mangle)]
extern "C" fn document() -> u32 {
    with(|memory| {
        let document = Document { policy: memory.policy, rules: memory.rules, guards: memory.builder };
        memory.text.say(&document)
    })
}

struct Document {
    policy: Policy,
    rules: Rules,
    guards: Options,
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_document(&self.policy, &self.rules, &self.guards, [], [], f)
    }
}

/// `builder` := no guards.
#[unsafe(no_mangle)]
extern "C" fn guards_start() {
    with(|memory| memory.builder = Options::NEW);
}

/// Sets a field of `builder`, as `guards_set` of the module for guards does. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn guards_set(name: u32, kind: u32, value: u32) -> u32 {
    with(|memory| {
        let mut builder = memory.builder;
        let number = memory.real(0);
        let value = match kind {
            2 => Value::Number { value: number, unit: 1e6 },
            5 => Value::Number { value: number, unit: f64::NAN },
            _ => memory.setting(kind, value),
        };
        let set = builder.set_field(memory.name.get(name), value);
        memory.made(set, |memory, ()| memory.builder = builder)
    })
}

/// `builder` := the same, and the guards of the preset with that name where it has none of its own.
#[unsafe(no_mangle)]
extern "C" fn guards_upon(name: u32) {
    with(|memory| {
        let preset = Preset::from_name(memory.name.get(name));
        memory.builder = preset.map_or(memory.builder, |preset| memory.builder.preset(preset).guards());
    });
}

/// The number of the form with that name, 0 when there is none.
#[unsafe(no_mangle)]
extern "C" fn form_named(name: u32) -> u32 {
    with(|memory| Form::from_name(memory.name.get(name)).map_or(0, |form| form.code().into()))
}

/// Begins to read a form: of a service config that entry, 2^32-1 for the only one.
#[unsafe(no_mangle)]
extern "C" fn form_start(form: u32, entry: u32) {
    with(|memory| {
        let reader = Form::from_code(form).unwrap_or(Form::Grpc).reader();
        memory.form = if entry == u32::MAX { reader } else { reader.entry(entry) };
    });
}

/// The answer of [`form_set`] for a value that JavaScript keeps, as a pattern or as the name of a
/// type of error.
const PATTERN: u32 = 1 << 31;
const ERROR_TYPE: u32 = PATTERN | 1;

/// Sets a field of the form. 0, what is to be kept, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn form_set(name: u32, kind: u32, value: u32) -> u32 {
    with(|memory| {
        let mut form = memory.form;
        let set = form.set(memory.name.get(name), memory.setting(kind, value)).map(|text| match text {
            None | Some(HostText::NoPatterns(_)) => 0,
            Some(HostText::Pattern { .. }) => PATTERN,
            Some(HostText::ErrorType(_)) => ERROR_TYPE,
        });
        memory.form = form;
        set.unwrap_or_else(|error| memory.explain(&error))
    })
}

/// `policy`, `rules` and `builder` := what the form means. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn form_build() -> u32 {
    with(|memory| match memory.form.build().and_then(|policy| Ok((policy, memory.form.guards()?))) {
        Ok((policy, guards)) => {
            memory.policy = policy;
            memory.builder = guards;
            memory.rules = memory.form.rules();
            memory.leave([policy.first_limit().map_or(u64::MAX, |limit| limit.as_nanos())]);
            0
        }
        Err(error) => memory.explain(&error),
    })
}

/// `policy`, `rules` and the guards of `builder` in a form, its lists of texts empty. The length, from 2^31 on that of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn form_write(form: u32) -> u32 {
    with(|memory| {
        let form = Form::from_code(form).unwrap_or(Form::Grpc);
        match form.export(&memory.policy, &memory.rules, &memory.builder) {
            Ok(policy) => memory.text.say(&Written(policy)),
            Err(error) => memory.explain(&error) | 1 << 31,
        }
    })
}

struct Written(ForeignPolicy);

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write([], [], f)
    }
}
