//! Finding the policies of a document, inside of the objects and lists that a form names.
//!
//! Inside of a policy every name is known, and another one is a mistake; around it a file may hold anything. Where a form has
//! policies in no object of their own, an object is a policy once it has a field of one.

use super::duration::unit_of;
use super::values::{Entries, Kind, Row, System, error, find_path, hash, indexed, same};
use crate::decide::policy::RULES;
use crate::error::{Error, ErrorCode};
use crate::nearest::nearest;
use crate::saved_bytes::Fnv;
use crate::value::Value;

/// No policy chosen.
const ANY: u32 = u32::MAX;
/// The hash of no path, and that of the document.
const NOWHERE: u64 = 0;
const ROOT: u64 = Fnv::LONG.hash;

/// The objects around the policies of a document. One policy is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Wrapper {
    /// The policy that the host chose, in the order of the document.
    pub(super) chosen: u32,
    /// How many there were so far.
    count: u32,
    /// The number of the latest one.
    number: u32,
    /// The hash of its path: readers have no room for paths.
    here: u64,
    /// The hash of the path of the one that is read.
    read: u64,
    /// The hash of an object with a name that is no field, in which no field has come yet.
    strange: u64,
    /// The hash of an object with fields around a policy that has not come yet.
    around: u64,
    /// The name of the configuration that is read, as a hash.
    config: u64,
    /// True if a list of retries was empty.
    has_empty_list: bool,
    /// True if there are configurations on which others may build.
    has_configs: bool,
    /// True if the document has a field.
    has_fields: bool,
}

/// A field of a form.
#[derive(Clone, Copy)]
pub(super) struct Found<'n> {
    /// The index of its rule, where a policy is a list of rules; 1 for a field around a policy that has not come yet.
    pub(super) slot: u8,
    /// The path of the field inside its policy.
    pub(super) name: &'n str,
    /// The row of the field; `None` for an unknown one.
    pub(super) row: Option<&'static Row>,
    /// The nanoseconds in one, for a part of a time that is an object.
    pub(super) unit: Option<u64>,
    /// The hash of the name of the configuration that it is in, on which others may build.
    pub(super) config: Option<u64>,
    /// What becomes of the fields around a policy that came before it.
    pub(super) around: Around,
}

/// What becomes of the fields around a policy that came before it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Around {
    Keep,
    /// They are of another policy.
    Forget,
    /// They are of this policy.
    Take,
}

impl Found<'_> {
    pub(super) const fn of<'n>(name: &'n str, row: Option<&'static Row>) -> Found<'n> {
        Found { slot: 0, name, row, unit: None, config: None, around: Around::Keep }
    }
}

/// The object of a path that may be a policy.
struct Place<'n> {
    /// The path of the object.
    object: &'n str,
    /// The path in it.
    rest: &'n str,
    /// The index of the object, if it is in a list.
    index: Option<u32>,
    /// True if it has a name among others, which the pattern does not say.
    is_named: bool,
    /// True if it is a policy even without a field.
    is_whole: bool,
    /// True if it is in no object of its own.
    is_root: bool,
    /// The name of the configuration that it is.
    config: Option<u64>,
}

impl Wrapper {
    pub(super) const NONE: Self = Self {
        chosen: ANY,
        count: 0,
        number: 0,
        here: NOWHERE,
        read: NOWHERE,
        strange: NOWHERE,
        around: NOWHERE,
        config: NOWHERE,
        has_empty_list: false,
        has_configs: false,
        has_fields: false,
    };

    /// The field with that path; `None` for what does not concern the policy.
    pub(super) fn find<'n>(
        &mut self,
        system: &System,
        path: &'n str,
        value: Value<'_>,
    ) -> Result<Option<Found<'n>>, Error> {
        self.has_fields = true;
        match system.entries {
            Entries::Objects => self.in_object(system, path, value),
            Entries::Retriers => self.in_retrier(system, path, value),
            Entries::Pipelines => self.in_pipeline(system, path, value),
        }
    }

    fn in_object<'n>(&mut self, system: &System, path: &'n str, value: Value<'_>) -> Result<Option<Found<'n>>, Error> {
        let is_empty = matches!(value, Value::Nothing | Value::Empty | Value::NoItems);
        let mut place = place(system, path);
        let mut row = row_of(system.tables, place.rest);
        if place.is_named && row.is_none() && !is_group(system, place.rest) {
            // A name may have dots in it.
            let dots = place.rest.match_indices('.').filter_map(|(at, _)| place.rest.get(at.saturating_add(1)..));
            if let Some((rest, found)) = dots.filter_map(|rest| Some((rest, row_of(system.tables, rest)?))).next() {
                (place.object, place.rest, row) = (object_of(path, rest), rest, Some(found));
            }
        }
        if !place.is_root {
            self.enter(place.object, place.index);
        }
        if place.rest.is_empty() {
            return match value {
                Value::Empty if place.is_whole && place.config.is_none() => self.choose().map(|_| None),
                _ if is_empty || !place.is_named || !self.choose()? => Ok(None),
                _ => Err(error(ErrorCode::FormValue, "", "must be an object")),
            };
        }
        let Some((row, name, unit)) = row else { return self.unknown(system, &place, value) };
        if value == Value::Nothing {
            return Ok(None);
        }
        self.has_configs |= place.config.is_some();
        let found = Found { unit, config: place.config, ..Found::of(name, Some(row)) };
        match place.config {
            Some(config) if self.chosen == self.number => (self.read, self.config) = (self.here, config),
            Some(_) => {}
            None if self.takes(&place)? => {}
            None => return Ok(None),
        }
        Ok(Some(found))
    }

    /// A name that is no field: a mistake in a policy, nothing around it.
    fn unknown<'n>(
        &mut self,
        system: &System,
        place: &Place<'n>,
        value: Value<'_>,
    ) -> Result<Option<Found<'n>>, Error> {
        let found = Some(Found::of(place.rest, None));
        let is_in = |names: &str| names.split_ascii_whitespace().any(|name| inside(name, place.rest, true).is_some());
        let is_empty = matches!(value, Value::Nothing | Value::Empty | Value::NoItems);
        if is_in(system.known) || is_empty && is_group(system, place.rest) {
            return Ok(None);
        }
        if system.strict != "." {
            let is_strict = value != Value::Nothing && is_in(system.strict);
            return Ok(if is_strict && self.takes(place)? { found } else { None });
        }
        if !place.is_root {
            return Ok(if place.config.is_some() || self.takes(place)? { found } else { None });
        }
        let names = system.tables.iter().copied().flatten().map(|row| row.path);
        let is_near = || !place.rest.contains('.') && nearest(indexed(place.rest).0, names).is_some();
        if system.wrappers.is_empty() || self.read == ROOT || is_near() {
            return Ok(found);
        }
        self.strange = ROOT;
        Ok(None)
    }

    /// Goes into an object with a field, and says whether it is the policy to read.
    fn takes(&mut self, place: &Place<'_>) -> Result<bool, Error> {
        if place.is_root {
            self.enter("", Some(0));
        }
        self.choose()
    }

    /// A field of a retrier: of a state alone, or of one in a machine.
    fn in_retrier<'n>(&mut self, system: &System, path: &'n str, value: Value<'_>) -> Result<Option<Found<'n>>, Error> {
        let Some((before, list, rest)) = names_of(path).rev().find(|(_, name, _)| same("Retry", indexed(name).0))
        else {
            return Ok(None);
        };
        let state = names_of(before).rev().find(|(_, name, _)| *name == "States").map(|(_, _, state)| state);
        if !before.is_empty() && state.is_none_or(|state| state.is_empty() || state.contains('.')) {
            return Ok(None);
        }
        let is_object = rest.is_empty() && matches!(value, Value::Empty | Value::Nothing);
        let (_, Some(index)) = indexed(list) else {
            self.has_empty_list |= value == Value::NoItems;
            let is_list = rest.is_empty() && matches!(value, Value::NoItems | Value::Nothing);
            return if is_list { Ok(None) } else { Err(error(ErrorCode::FormValue, "Retry", "must be a list")) };
        };
        self.enter(before, None);
        if !self.choose()? || system.known.split_ascii_whitespace().any(|name| inside(name, rest, true).is_some()) {
            return Ok(None);
        }
        match () {
            () if index as usize >= RULES => {
                Err(error(ErrorCode::TooManyRules, "", ErrorCode::TooManyRules.rule(None)))
            }
            () if is_object => Err(error(ErrorCode::FormMissing, "", "must have ErrorEquals")),
            () if rest.is_empty() => Err(error(ErrorCode::FormValue, "", "must be an object")),
            () => Ok(Some(Found { slot: index as u8, ..Found::of(rest, find_path(system.tables, indexed(rest).0)) })),
        }
    }

    /// A field of a retry strategy alone, or of a pipeline with one.
    fn in_pipeline<'n>(
        &mut self,
        system: &System,
        path: &'n str,
        value: Value<'_>,
    ) -> Result<Option<Found<'n>>, Error> {
        let [own, around] = system.tables else { return Ok(None) };
        let is_around =
            |name: &str| around.iter().any(|row| row.path.split_once('.').is_some_and(|(group, _)| same(group, name)));
        let part = names_of(path).find(|(_, name, _)| same("Retry", name) || is_around(name));
        let (before, name, rest) = part.unwrap_or(("", "Retry", path));
        let is_own = same("Retry", name);
        let is_known = system.known.split_ascii_whitespace().any(|known| same(known, rest));
        if rest.is_empty() || is_known || value == Value::Nothing || part.is_none() && rest.contains('.') {
            return Ok(None);
        }
        let here = hash(before);
        let row = match is_own {
            true => find_path(&[own], indexed(rest).0),
            false => find_path(&[around], path.get(before.len()..).unwrap_or(path).trim_start_matches('.')),
        };
        let mut found = Found::of(rest, row);
        match row {
            Some(_) if is_own => {
                self.enter(before, None);
                if !self.choose()? {
                    return Ok(None);
                }
                if self.around == here {
                    (self.around, found.around) = (NOWHERE, Around::Take);
                }
            }
            Some(_) if self.read == here => {}
            Some(_) => {
                found.slot = 1;
                found.around = if self.around == here { Around::Keep } else { Around::Forget };
                self.around = here;
            }
            None => {
                let is_near = || is_own && nearest(rest, own.iter().map(Row::name)).is_some();
                if self.read != here && !(self.chosen == ANY && is_near()) {
                    self.strange = if is_own { here } else { self.strange };
                    return Ok(None);
                }
            }
        }
        Ok(Some(found))
    }

    /// Goes into the object with that path: the next one, or the one with that index.
    fn enter(&mut self, object: &str, index: Option<u32>) {
        let here = Fnv::LONG.of(object.as_bytes());
        if here != self.here {
            self.here = here;
            self.number = index.unwrap_or(self.count);
            self.count = self.count.max(self.number.saturating_add(1));
        }
    }

    /// True if the object is the policy to read.
    fn choose(&mut self) -> Result<bool, Error> {
        if self.chosen != ANY && self.chosen != self.number {
            return Ok(false);
        }
        if self.read != NOWHERE && self.read != self.here {
            let code = ErrorCode::SeveralPolicies;
            return Err(error(code, "", code.rule(None)));
        }
        self.read = self.here;
        Ok(true)
    }

    /// Fails unless a policy was read, and all of it.
    pub(super) fn check(&self, system: &System) -> Result<(), Error> {
        let is_empty = !self.has_fields && system.has_defaults && matches!(self.chosen, 0 | ANY);
        let has_configs = self.has_configs && self.chosen == ANY;
        match () {
            () if self.read != NOWHERE && self.read == self.strange => {
                Err(error(ErrorCode::UnknownFormField, "", system.mixed))
            }
            () if self.read != NOWHERE
                || is_empty
                || has_configs
                || self.has_no_retries()
                || self.has_only_around() =>
            {
                Ok(())
            }
            () => Err(missing(self.chosen, self.count)),
        }
    }

    /// True if a policy is read.
    pub(super) const fn has_read(&self) -> bool {
        self.read != NOWHERE
    }

    /// True if a list of retries was empty, and no other was read.
    const fn has_no_retries(&self) -> bool {
        self.has_empty_list && self.chosen == ANY
    }

    /// True if the document has the fields around a policy, and no policy.
    pub(super) const fn has_only_around(&self) -> bool {
        self.around == ROOT && self.read == NOWHERE && matches!(self.chosen, 0 | ANY)
    }

    /// The hash of the name of the configuration that is read.
    pub(super) const fn config(&self) -> u64 {
        self.config
    }
}

/// The error about a document without the chosen policy, of which it has so many.
pub(super) fn missing(chosen: u32, count: u32) -> Error {
    if chosen == ANY || chosen < count || count == 0 {
        return Error::of_use(ErrorCode::NoPolicy);
    }
    Error { name: "entries", ..Error::of_use(ErrorCode::NoEntry) }.found(count)
}

/// The object of a path that may be a policy.
fn place<'n>(system: &System, path: &'n str) -> Place<'n> {
    for pattern in system.wrappers.split_ascii_whitespace() {
        let Some((rest, index)) = matched(pattern, path) else { continue };
        let (object, is_named) = (object_of(path, rest), pattern.ends_with(".*"));
        let is_whole = is_named || pattern.ends_with("retry");
        let name = object.rsplit_once('.').map_or(object, |(_, name)| name);
        let config = pattern.ends_with("configs.*").then(|| hash(name));
        return Place { object, rest, index, is_named, is_whole, is_root: false, config };
    }
    Place { object: "", rest: path, index: None, is_named: false, is_whole: false, is_root: true, config: None }
}

/// The path without its rest.
fn object_of<'n>(path: &'n str, rest: &str) -> &'n str {
    path.strip_suffix(rest).unwrap_or(path).trim_end_matches('.')
}

/// True for the path of an object that has fields of a policy, or policies, inside.
fn is_group(system: &System, path: &str) -> bool {
    system.tables.iter().copied().flatten().any(|row| is_around(row.path, path))
        || system.wrappers.split_ascii_whitespace().any(|pattern| is_around(pattern, path))
}

/// The field with that path in a policy, its path without the part of a time, and the nanoseconds in that part.
fn row_of<'n>(tables: &'static [&'static [Row]], path: &'n str) -> Option<(&'static Row, &'n str, Option<u64>)> {
    if let Some((base, unit)) = path.rsplit_once('.')
        && let Some(row) = find_path(tables, base).filter(|row| matches!(row.kind, Kind::Iso))
        && let Some(unit) = unit_of(unit)
    {
        return Some((row, base, Some(unit)));
    }
    find_path(tables, indexed(path).0).map(|row| (row, path, None))
}

/// The names of a path, each with the path before it and the one behind it.
fn names_of(path: &str) -> impl DoubleEndedIterator<Item = (&str, &str, &str)> {
    let starts = path.char_indices().filter(|(at, letter)| *at == 0 || *letter == '.');
    starts.map(move |(at, _)| {
        let start = if at == 0 { 0 } else { at.saturating_add(1) };
        let (name, rest) = path.get(start..).map_or(("", ""), |tail| tail.split_once('.').unwrap_or((tail, "")));
        (path.get(..at).unwrap_or(""), name, rest)
    })
}

/// The rest of a path behind a pattern, and the index in the last list of the pattern. Behind `**` a pattern may begin anywhere.
fn matched<'n>(pattern: &str, path: &'n str) -> Option<(&'n str, Option<u32>)> {
    let Some(tail) = pattern.strip_prefix("**.") else { return inside(pattern, path, false) };
    let starts = path.char_indices().rev().filter(|(at, letter)| *at == 0 || *letter == '.');
    starts
        .filter_map(|(at, _)| path.get(if at == 0 { 0 } else { at.saturating_add(1) }..))
        .find_map(|path| inside(tail, path, false))
}

/// The rest of a path inside of the objects that a pattern names, and the index in the last of its lists.
fn inside<'n>(pattern: &str, path: &'n str, any_index: bool) -> Option<(&'n str, Option<u32>)> {
    let (mut rest, mut last) = (path, None);
    for part in pattern.split('.') {
        let (name, next) = rest.split_once('.').unwrap_or((rest, ""));
        let (base, index) = indexed(name);
        let (wanted, is_list) = part.strip_suffix("[*]").map_or((part, false), |wanted| (wanted, true));
        let fits = if wanted == "*" { !base.is_empty() } else { same(wanted, base) };
        if !fits || !any_index && is_list != index.is_some() {
            return None;
        }
        (rest, last) = (next, if is_list { index } else { None });
    }
    Some((rest, last))
}

/// True if a pattern goes on behind that path.
fn is_around(pattern: &str, path: &str) -> bool {
    let mut parts = pattern.split('.');
    path.split('.')
        .all(|name| parts.next().is_some_and(|part| part == "*" || same(part.trim_end_matches("[*]"), indexed(name).0)))
}
