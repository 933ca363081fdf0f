//! Rules as the formats of other systems say them: list by list, and with nothing else retried.

use super::set::find;
use super::{HostText, Rules};
use crate::decide::grpc::GrpcCode;
use crate::error::Error;
use crate::value::Value;

impl Rules {
    /// Adds an entry to the list with that name of a rule, in an alternative of its own: any of a rule's lists makes it hold.
    /// True or false sets a condition that is none.
    ///
    /// # Errors
    /// As of [`Rules::set_condition`].
    pub(crate) fn add_entry<'a>(
        &mut self,
        rule: u8,
        list: &str,
        value: Value<'a>,
    ) -> Result<Option<HostText<'a>>, Error> {
        let (condition, _) = find(list)?;
        let own = || self.alternatives.iter().take(self.used.into()).filter(|known| known.rule == rule);
        let known = own().find(|known| known.has(condition)).map(|known| known.index);
        let nth = known.unwrap_or(own().count() as u8);
        let index =
            if matches!(value, Value::Flag(_) | Value::NoItems) { None } else { Some(u32::from(known.is_some())) };
        let mut changed = *self;
        changed.begin_conditions(rule).map_err(Error::of_use)?;
        let text = changed.set_in(rule, nth, condition, index, value)?;
        *self = changed;
        Ok(text)
    }

    /// True if the rule with that index has an alternative, and if one of them holds always.
    pub(crate) fn alternatives_of(&self, rule: u8) -> (bool, bool) {
        let own = || self.alternatives().filter(|(alternative, _)| alternative.rule == rule);
        (own().count() > 0, own().any(|(alternative, _)| alternative.conditions == 0))
    }

    /// The rules with a last one that makes every other failure permanent, or every other failure with a gRPC code.
    pub(crate) fn and_nothing_else(mut self, with_code: bool) -> Self {
        let rule = self.count();
        if with_code {
            for code in GrpcCode::ALL {
                let path = if code.code() == 0 { ".grpc[0]" } else { ".grpc[1]" };
                let number = Value::Number { value: code.code().into(), unit: 1.0 };
                let _ = self.set_condition(rule, path, number);
            }
        } else {
            let _ = self.set_condition(rule, "", Value::Empty);
        }
        let _ = self.set_retry(rule, Value::Flag(false));
        self
    }

    /// The codes of the list of gRPC codes, one bit for each, when these are the rules of gRPC's form.
    pub(crate) fn only_codes(&self) -> Option<u32> {
        let grpc = self.alternatives.first()?.grpc;
        let mut rules = Self::NONE;
        let _ = rules.set_condition(0, ".grpc", Value::NoItems);
        let _ = rules.set_retry(0, Value::Flag(true));
        if let Some(first) = rules.alternatives.first_mut() {
            first.grpc = grpc;
        }
        (*self == rules.and_nothing_else(true)).then_some(grpc)
    }

    /// True if these are the rules of langgraphgo's graph, which has a list of patterns.
    pub(crate) fn has_only_patterns(&self) -> bool {
        let mut rules = Self::NONE;
        let _ = rules.set_condition(0, ".patterns", Value::NoItems);
        let _ = rules.set_retry(0, Value::Flag(true));
        *self == rules.and_nothing_else(false)
    }
}
