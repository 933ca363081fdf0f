//! Policies as text: our document, and what other systems write.
#![allow(unsafe_code)]

use super::{Desk, with};
use core::fmt;
use holdoff_core::{Form, FormError, FormKept, Formed, GuardsBuilder, Policy, Preset, Rules, Value, write_guarded};

/// `policy`, `rules` and the guards of `builder` as a JSON document, its lists of patterns empty. The length.
#[unsafe(no_mangle)]
extern "C" fn document() -> u32 {
    with(|desk| {
        let document = Document { policy: desk.policy, rules: desk.rules, guards: desk.builder };
        desk.text.say(&document)
    })
}

struct Document {
    policy: Policy,
    rules: Rules,
    guards: GuardsBuilder,
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_guarded(&self.policy, &self.rules, &self.guards, [], [], f)
    }
}

/// `builder` := no guards.
#[unsafe(no_mangle)]
extern "C" fn guards_start() {
    with(|desk| desk.builder = GuardsBuilder::NEW);
}

/// Sets a field of `builder`, as `guards_set` of the module for guards does. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn guards_set(name: u32, kind: u32, value: u32) -> u32 {
    with(|desk| {
        let mut builder = desk.builder;
        let number = desk.real(0);
        let value = match kind {
            2 => Value::Number { value: number, unit: 1e6 },
            5 => Value::Number { value: number, unit: f64::NAN },
            _ => desk.setting(kind, value),
        };
        let set = builder.set(desk.name.get(name), value);
        desk.made(set, |desk, ()| desk.builder = builder)
    })
}

/// `builder` := the same, and the guards of the preset with that name where it has none of its own.
#[unsafe(no_mangle)]
extern "C" fn guards_upon(name: u32) {
    with(|desk| desk.builder = desk.builder.upon(Preset::from_name(desk.name.get(name))));
}

/// The number of the form with that name, 0 when there is none.
#[unsafe(no_mangle)]
extern "C" fn form_named(name: u32) -> u32 {
    with(|desk| Form::from_name(desk.name.get(name)).map_or(0, |form| form.code().into()))
}

/// Begins to read a form: of a service config that entry, 2^32-1 for the only one.
#[unsafe(no_mangle)]
extern "C" fn form_start(form: u32, entry: u32) {
    with(|desk| {
        let reader = Form::from_code(form).unwrap_or(Form::Grpc).reader();
        desk.form = if entry == u32::MAX { reader } else { reader.entry(entry) };
    });
}

/// What [`form_set`] answers beside the length of a problem: the value is kept by JavaScript, as a pattern or as the name of a
/// type of error.
const PATTERN: u32 = 1 << 31;
const ERROR_TYPE: u32 = PATTERN | 1;

/// Sets a field of the form. 0, what is to be kept, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn form_set(name: u32, kind: u32, value: u32) -> u32 {
    with(|desk| {
        let mut form = desk.form;
        let set = form.set(desk.name.get(name), desk.setting(kind, value)).map(|kept| match kept {
            FormKept::All => 0,
            FormKept::Pattern(_) => PATTERN,
            FormKept::ErrorType(_) => ERROR_TYPE,
        });
        desk.form = form;
        set.unwrap_or_else(|error| explained(desk, &error))
    })
}

/// `policy`, `rules` and `builder` := what the form means. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn form_build() -> u32 {
    with(|desk| match desk.form.build().and_then(|policy| Ok((policy, desk.form.guards()?))) {
        Ok((policy, guards)) => {
            desk.policy = policy;
            desk.builder = guards;
            desk.rules = desk.form.rules();
            desk.leave([policy.first_limit().map_or(u64::MAX, |limit| limit.as_nanos())]);
            0
        }
        Err(error) => explained(desk, &error),
    })
}

/// `policy`, `rules` and the guards of `builder` in a form, its lists of texts empty. The length, from 2^31 on that of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn form_write(form: u32) -> u32 {
    with(|desk| {
        let form = Form::from_code(form).unwrap_or(Form::Grpc);
        match form.of_guarded(&desk.policy, &desk.rules, &desk.builder) {
            Ok(formed) => desk.text.say(&Written(formed)),
            Err(error) => explained(desk, &error) | 1 << 31,
        }
    })
}

struct Written(Formed);

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write([], [], f)
    }
}

fn explained(desk: &mut Desk, error: &FormError) -> u32 {
    let words = [error.field, error.rule, error.nearest.unwrap_or_default()];
    desk.problem.explain_other(&mut desk.text, (error.code, error.given), words)
}
