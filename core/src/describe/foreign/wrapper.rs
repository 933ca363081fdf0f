//! Finding a policy in a document, inside of objects and lists that a form names.

use super::duration::unit_of;
use super::values::{Kind, Row, System, error, find_path, indexed, same};
use crate::decide::policy::RULES;
use crate::error::{Error, ErrorCode};
use crate::saved_bytes::Fnv;
use crate::value::Value;

/// No policy chosen.
const ANY: u32 = u32::MAX;

/// The objects around the policies of a document. One policy is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Wrapper {
    /// The policy that the host chose, in the order of the document.
    pub(super) chosen: u32,
    /// How many there were so far.
    seen: u32,
    /// The hash of the path of the latest one: readers have no room for paths.
    path: u64,
}

/// A field of a form.
pub(super) struct Found<'n> {
    /// The index of its rule, where each policy in the document is a rule.
    pub(super) slot: u8,
    /// The path of the field inside its policy.
    pub(super) name: &'n str,
    /// The row of the field; `None` for an unknown one.
    pub(super) row: Option<&'static Row>,
    /// The nanoseconds in one, for a part of a time that is an object.
    pub(super) unit: Option<u64>,
}

impl Wrapper {
    pub(super) const NONE: Self = Self { chosen: ANY, seen: 0, path: 0 };

    /// The field with that path; `None` for what does not concern the policy.
    pub(super) fn find<'n>(
        &mut self,
        system: &System,
        path: &'n str,
        value: Value<'_>,
    ) -> Result<Option<Found<'n>>, Error> {
        let is_empty = matches!(value, Value::Nothing | Value::Empty | Value::NoItems);
        let wrapper = system.wrappers.split_ascii_whitespace().find_map(|pattern| inside(pattern, path, false));
        let rest = wrapper.unwrap_or(path);
        let is_ignored = |path| system.ignored.split_ascii_whitespace().any(|name| inside(name, path, true).is_some());
        if is_ignored(path)
            || is_ignored(rest)
            || is_empty && system.wrappers.split_ascii_whitespace().any(|pattern| is_around(pattern, path))
        {
            return Ok(None);
        }
        if rest.is_empty() {
            return Err(error(ErrorCode::FormValue, "", "must be an object"));
        }
        let mut slot = 0;
        if wrapper.is_some() {
            let nth = self.enter(path.strip_suffix(rest).unwrap_or(path));
            match () {
                () if system.has_rules && nth as usize >= RULES => {
                    return Err(error(ErrorCode::TooManyRules, "", ErrorCode::TooManyRules.rule(None)));
                }
                () if system.has_rules => slot = nth as u8,
                () if self.chosen == ANY && nth > 0 => {
                    let code = ErrorCode::SeveralPolicies;
                    return Err(error(code, "", code.rule(None)));
                }
                () if self.chosen != ANY && self.chosen != nth => return Ok(None),
                () => {}
            }
        }
        let tables = match system.tables {
            [first, ..] if wrapper.is_some() => core::slice::from_ref(first),
            all => all,
        };
        let row = find_path(tables, indexed(rest).0);
        let part = || {
            let (base, unit) = rest.rsplit_once('.')?;
            let row = find_path(tables, base).filter(|row| matches!(row.kind, Kind::Iso))?;
            Some(Found { slot, name: base, row: Some(row), unit: Some(unit_of(unit)?) })
        };
        Ok(Some(part().unwrap_or(Found { slot, name: rest, row, unit: None })))
    }

    /// The index of the policy whose path that is, in the order of the document.
    fn enter(&mut self, path: &str) -> u32 {
        let hash = Fnv::LONG.of(path.as_bytes());
        if hash != self.path {
            (self.path, self.seen) = (hash, self.seen.saturating_add(1));
        }
        self.seen.saturating_sub(1)
    }
}

/// The rest of a path inside of the objects that a pattern names.
fn inside<'n>(pattern: &str, path: &'n str, any_index: bool) -> Option<&'n str> {
    let mut rest = path;
    for part in pattern.split('.') {
        let (name, next) = rest.split_once('.').unwrap_or((rest, ""));
        let (base, index) = indexed(name);
        let (wanted, is_list) = part.strip_suffix("[*]").map_or((part, false), |wanted| (wanted, true));
        let fits = if wanted == "*" { !base.is_empty() } else { same(wanted, base) };
        if !fits || !any_index && is_list != index.is_some() {
            return None;
        }
        rest = next;
    }
    Some(rest)
}

/// True if a pattern goes on behind that path.
fn is_around(pattern: &str, path: &str) -> bool {
    let mut parts = pattern.split('.');
    path.split('.')
        .all(|name| parts.next().is_some_and(|part| part == "*" || same(part.trim_end_matches("[*]"), indexed(name).0)))
}
