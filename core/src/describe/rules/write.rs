//! Conditions as a document says them.

use super::{
    Alternative, CLASSES, FIRST_STATUS, GRPC, HTTP, IDEMPOTENT, KINDS, NEVER, RETRIES, Rules, TextList, UNSENT, bit_of,
    has_status, slot,
};
use crate::decide::failure::FailureKind;
use crate::decide::grpc::GrpcCode;
use crate::decide::policy::Policy;
use crate::json::{Open, Out};
use crate::value::Value;
use core::fmt;

impl Rules {
    /// The names of the conditions of an alternative.
    pub fn conditions() -> impl Iterator<Item = &'static str> {
        Rules::CONDITIONS.into_iter().map(|known| known.0)
    }

    /// The rules of a policy, each with the kinds for which it holds whatever else is known.
    pub(crate) fn of_kinds(policy: &Policy) -> Self {
        let mut rules = Self::NONE;
        if policy.has_deciding_rules() {
            for (index, rule) in (0..).zip(&policy.rules).filter(|(_, rule)| rule.decides()) {
                while rules.count() <= index && rules.begin(rules.count()).is_ok() {}
                let mut kinds = FailureKind::ALL.into_iter().filter(|kind| rule.kinds << 1 >> kind.code() & 1 == 1);
                let _ = rules.set_condition(index, ".kinds", Value::NoItems);
                let _ = kinds
                    .try_for_each(|kind| rules.set_condition(index, ".kinds[1]", Value::Text(kind.name())).map(|_| ()));
            }
        }
        rules
    }

    /// Writes `if` and `retry` of the rule with that index; `texts` writes a list that the host has stored.
    pub(crate) fn write(
        &self,
        rule: u8,
        object: &mut Open<'_>,
        mut texts: impl FnMut(u8, TextList, Out<'_>) -> fmt::Result,
    ) -> fmt::Result {
        let own = || (0_u8..).zip(self.alternatives()).filter(|(_, (alternative, _))| alternative.rule == rule);
        if self.has_if(rule) {
            let out = object.field("if")?;
            if own().count() == 1 {
                own().try_for_each(|(number, (alternative, _))| {
                    self.write_alternative(number, alternative, &mut *out, &mut texts)
                })?;
            } else {
                let mut list = Open::new(out, '[')?;
                for (number, (alternative, _)) in own() {
                    self.write_alternative(number, alternative, list.item()?, &mut texts)?;
                }
                list.end(']')?;
            }
        }
        match self.word(rule) {
            RETRIES => write!(object.field("retry")?, "true"),
            NEVER => write!(object.field("retry")?, "false"),
            _ => Ok(()),
        }
    }

    fn write_alternative(
        &self,
        number: u8,
        alternative: &Alternative,
        out: Out<'_>,
        texts: &mut impl FnMut(u8, TextList, Out<'_>) -> fmt::Result,
    ) -> fmt::Result {
        let mut object = Open::new(out, '{')?;
        if alternative.has(HTTP) {
            write_http(self.set_of(alternative), object.field("http")?)?;
        }
        if alternative.has(GRPC) {
            write_codes(alternative.grpc, object.field("grpc")?)?;
        }
        if alternative.has(KINDS) {
            let kinds = FailureKind::ALL.into_iter().filter(|kind| alternative.kinds >> kind.code() & 1 == 1);
            crate::json::texts(object.field("kinds")?, kinds.map(FailureKind::name))?;
        }
        for list in TextList::ALL.into_iter().filter(|list| alternative.has(bit_of(*list))) {
            texts(number, list, object.field(list.name())?)?;
        }
        for (bit, name) in [(IDEMPOTENT, "idempotent"), (UNSENT, "unsent")] {
            if alternative.has(bit) {
                write!(object.field(name)?, "{}", alternative.flags & bit != 0)?;
            }
        }
        object.end('}')
    }
}

/// A list of the names of codes.
pub(crate) fn write_codes(codes: u32, out: Out<'_>) -> fmt::Result {
    let listed = GrpcCode::ALL.into_iter().filter(|code| codes >> code.code() & 1 == 1);
    crate::json::texts(out, listed.map(GrpcCode::name))
}

/// The entries of a set of statuses: whole classes by their name, other statuses one by one.
fn write_http(set: &[u64; 8], out: Out<'_>) -> fmt::Result {
    let mut list = Open::new(out, '[')?;
    for (class, first) in CLASSES.into_iter().zip((FIRST_STATUS..).step_by(100)) {
        let statuses = first..first.saturating_add(100);
        if statuses.clone().all(|status| has_status(set, status)) {
            crate::json::text(list.item()?, class)?;
            continue;
        }
        for status in statuses.filter(|status| slot(*status).is_some() && has_status(set, *status)) {
            write!(list.item()?, "{status}")?;
        }
    }
    list.end(']')
}
