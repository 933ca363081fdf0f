//! gRPC's retryPolicy: exponential, a fifth more or less, a pushback obeyed to the letter (gRFC A6); its hedgingPolicy, and
//! the throttle for both.

use super::exponential;
use super::values::{ABOVE_ZERO, ANY, Item, Kind, Row, System, Values, error, find, indexed, row, same};
use super::wrapper::missing;
use crate::decide::backoff::Backoff;
use crate::decide::guards::guard::GuardFields as _;
use crate::decide::hint::HintMode;
use crate::decide::jitter::{Cap, Jitter};
use crate::decide::policy::Policy;
use crate::describe::options::Options;
use crate::describe::preset::LONGEST_HINT;
use crate::error::{Error, ErrorCode};
use crate::fields::Field;
use crate::json::Open;
use crate::nearest::nearest;
use crate::value::Value;
use core::fmt;
use core::time::Duration;

pub(super) const SYSTEM: System = System::alone(
    &[&RETRY, &ENTRY, &HEDGING, &THROTTLING, &GROUPS],
    ["is not a field of a gRPC retryPolicy or of the service config around it", "gRPC cannot express this"],
    import,
    export,
);

/// gRPC makes at most five attempts, whatever a config says.
const MOST: u32 = 5;

const RETRY_POLICY: &str = "retryPolicy";
const HEDGING_POLICY: &str = "hedgingPolicy";
const RETRY_THROTTLING: &str = "retryThrottling";
const METHOD_CONFIG: &str = "methodConfig";

const ATTEMPTS: &str = "must be a whole number, 2 or more; above 5 means 5";
const TIME: &str = "must be a time above 0 in seconds, such as \"0.1s\"";
const DELAY: &str = "must be a time in seconds, 0 or more, such as \"0.1s\"";
const CODES: &str = "must be a list of gRPC codes with at least one, such as [\"UNAVAILABLE\"]";
const NON_FATAL: &str = "must be a list of gRPC codes, such as [\"UNAVAILABLE\"]";
const RATIO: &str = "must be a number above 0; three decimals count";
const GROUP: &str = "must be an object, or for methodConfig a list of objects";

const FROM_TWO: core::ops::RangeInclusive<f64> = 2.0..=f64::MAX;

const RETRY: [Row; 5] = [
    row("retryPolicy.maxAttempts", Item::Attempts, Kind::Count, FROM_TWO, ATTEMPTS),
    row("retryPolicy.initialBackoff", Item::Initial, Kind::Seconds, ABOVE_ZERO, TIME),
    row("retryPolicy.maxBackoff", Item::Max, Kind::Seconds, ABOVE_ZERO, TIME),
    row("retryPolicy.backoffMultiplier", Item::Factor, Kind::Number, ABOVE_ZERO, "must be a number above 0"),
    row("retryPolicy.retryableStatusCodes", Item::Codes, Kind::Codes, ANY, CODES),
];
/// The fields beside a policy, and the objects that a policy may be in.
const ENTRY: [Row; 3] = [
    row("timeout", Item::Deadline, Kind::Seconds, ABOVE_ZERO, TIME),
    row(RETRY_POLICY, Item::NoValue, Kind::Group, ANY, GROUP),
    row(METHOD_CONFIG, Item::NoValue, Kind::Group, ANY, GROUP),
];
const HEDGING: [Row; 3] = [
    row("hedgingPolicy.maxAttempts", Item::HedgeAttempts, Kind::Count, FROM_TWO, ATTEMPTS),
    row("hedgingPolicy.hedgingDelay", Item::HedgeDelay, Kind::Seconds, ANY, DELAY),
    row("hedgingPolicy.nonFatalStatusCodes", Item::NonFatal, Kind::CodesOrNone, ANY, NON_FATAL),
];
const THROTTLING: [Row; 2] = [
    row("retryThrottling.maxTokens", Item::Tokens, Kind::Count, 1.0..=1000.0, "must be a whole number from 1 to 1000"),
    row("retryThrottling.tokenRatio", Item::Ratio, Kind::Number, ABOVE_ZERO, RATIO),
];
const GROUPS: [Row; 2] = [
    row(HEDGING_POLICY, Item::NoValue, Kind::Group, ANY, GROUP),
    row(RETRY_THROTTLING, Item::NoValue, Kind::Group, ANY, GROUP),
];

/// Fields beside a retryPolicy that do not concern it.
const IGNORED: [&str; 7] = [
    "name",
    "waitForReady",
    "maxRequestMessageBytes",
    "maxResponseMessageBytes",
    "loadBalancingPolicy",
    "loadBalancingConfig",
    "healthCheckConfig",
];

/// No entry of methodConfig, or any.
const ANY_ENTRY: u32 = u32::MAX;
/// The entry of a policy that is in no list.
const NO_LIST: u32 = u32::MAX - 1;

/// The entries of methodConfig that are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(super) struct Entries {
    /// The entry that the host chose.
    pub(super) chosen: u32,
    /// The entry with the policy.
    policy: u32,
    /// The entry with the timeout.
    timeout: u32,
    /// How many entries there are so far.
    count: u32,
    /// True if the config has a field beside methodConfig that gRPC does not have there.
    has_others: bool,
}

impl Entries {
    pub(super) const NONE: Self =
        Self { chosen: ANY_ENTRY, policy: ANY_ENTRY, timeout: ANY_ENTRY, count: 0, has_others: false };

    /// Fails unless a policy was read, and all of it.
    pub(super) fn check(&self) -> Result<(), Error> {
        let is_wrong = self.policy == NO_LIST && !matches!(self.chosen, 0 | ANY_ENTRY);
        match self.policy {
            ANY_ENTRY => Err(missing(self.chosen, self.count)),
            NO_LIST if self.has_others => Err(error(ErrorCode::UnknownFormField, "", SYSTEM.unknown)),
            _ if is_wrong => Err(missing(self.chosen, 1)),
            _ => Ok(()),
        }
    }

    /// The error of the policy's field, with the entry that it is in.
    pub(super) fn blamed(&self, error: Error) -> Error {
        let is_throttle = THROTTLING.iter().any(|row| row.path == error.name);
        Error { entry: u16::try_from(self.policy).ok().filter(|_| !is_throttle), ..error }
    }

    /// True if the timeout is that of other methods than the policy's.
    pub(super) const fn is_timeout_of_others(&self) -> bool {
        self.timeout != self.policy
    }

    /// The last name of a path in a service config, and its field; `None` for fields that do not concern the policy.
    pub(super) fn find<'n>(
        &mut self,
        path: &'n str,
        is_null: bool,
    ) -> Result<Option<(&'n str, Option<&'static Row>)>, Error> {
        let (mut first, mut rest) = cut(path);
        let (mut base, index) = indexed(first);
        let mut entry = NO_LIST;
        if same(METHOD_CONFIG, base) && (!rest.is_empty() || index.is_some()) {
            entry = index.unwrap_or(NO_LIST).min(NO_LIST);
            self.count = self.count.max(entry.saturating_add(1));
            if self.chosen != ANY_ENTRY && self.chosen != entry {
                return Ok(None);
            }
            if rest.is_empty() {
                return Ok(Some((METHOD_CONFIG, find(&[&ENTRY], METHOD_CONFIG))));
            }
            (first, rest) = cut(rest);
            base = indexed(first).0;
        }
        // The throttle is for all methods, and so in no entry.
        let is_throttle = entry == NO_LIST && same(RETRY_THROTTLING, base);
        let is_hedge = same(HEDGING_POLICY, base);
        let is_guard = is_throttle || is_hedge;
        if is_guard && is_null || IGNORED.into_iter().any(|known| same(known, base)) {
            return Ok(None);
        }
        let tables: &[&[Row]] = match () {
            () if !is_guard => &[&RETRY, &ENTRY],
            () if rest.is_empty() => &[&GROUPS],
            () if is_hedge => &[&HEDGING],
            () => &[&THROTTLING],
        };
        let name = match () {
            () if rest.is_empty() => first,
            () if is_guard || same(RETRY_POLICY, first) => rest,
            // No other field has fields.
            () => "",
        };
        let row = find(tables, indexed(name).0);
        // A config may have more than policies.
        if row.is_none() && entry == NO_LIST && !is_guard && !same(RETRY_POLICY, base) {
            let names = SYSTEM.tables.iter().copied().flatten().map(Row::name);
            if self.policy != NO_LIST && nearest(base, names).is_none() {
                self.has_others = true;
                return Ok(None);
            }
        }
        let is_elsewhere = self.policy != ANY_ENTRY && self.policy != entry;
        match row.map(|row| row.item) {
            _ if is_null || is_throttle => {}
            // The timeout of an entry that has no policy is that of other methods.
            Some(Item::Deadline) if is_elsewhere => return Ok(None),
            Some(Item::Deadline) => self.timeout = entry,
            None if !is_hedge => {}
            _ if is_elsewhere => {
                let code = ErrorCode::SeveralPolicies;
                return Err(error(code, RETRY_POLICY, code.rule(None)));
            }
            _ => self.policy = entry,
        }
        Ok(Some((name, row)))
    }
}

/// A path's first name and the rest.
fn cut(path: &str) -> (&str, &str) {
    path.split_once('.').unwrap_or((path, ""))
}

/// The options with the guards of a service config.
fn with_guards(mut guards: Options, values: &Values) -> Result<Options, Error> {
    if values.has_any(&THROTTLING) {
        values.require(&THROTTLING)?;
        values.check(&THROTTLING)?;
        guards.set("budget", Value::Text("throttle"))?;
        guards.put(Field::BudgetCapacity, values.at(Item::Tokens));
        guards.put(Field::BudgetReward, values.at(Item::Ratio));
    }
    if values.has_any(&HEDGING) {
        guards.put(Field::HedgeDelay, values.at(Item::HedgeDelay));
        guards.put(Field::HedgeAttempts, values.attempts(Item::HedgeAttempts).min(MOST).into());
    }
    Ok(guards)
}

fn import(values: &Values) -> Result<Options, Error> {
    let mut options = if values.has_any(&HEDGING) {
        if values.has_any(&RETRY) {
            let rule = "must not be there beside a retryPolicy";
            return Err(error(ErrorCode::FormValue, HEDGING_POLICY, rule));
        }
        let [attempts, ..] = &HEDGING;
        values.require(core::slice::from_ref(attempts))?;
        values.check(&HEDGING)?;
        // All attempts of a hedge are in one round, so that there is no backoff.
        let backoff = Backoff::constant(Duration::ZERO);
        *Policy::options()
            .backoff(backoff)
            .jitter(Jitter::None)
            .attempts(values.attempts(Item::HedgeAttempts).min(MOST))
    } else {
        values.require(&RETRY)?;
        values.check(&RETRY)?;
        let mut bounded = *values;
        // A6 bounds the first delay by the longest as well.
        bounded.put(Item::Initial, values.at(Item::Initial).min(values.at(Item::Max)));
        *exponential::import(&bounded, false)
            .jitter(Jitter::Proportional { factor: 0.2 })
            .cap(Cap::BeforeJitter)
            .attempts(values.attempts(Item::Attempts).min(MOST))
    };
    options.hint_mode(HintMode::Exact).hint_max(LONGEST_HINT);
    let mut options = with_guards(options, values)?;
    if !values.has(Item::Deadline) {
        return Ok(options);
    }
    values.check(&ENTRY)?;
    Ok(*options.deadline(Duration::from_nanos(values.at(Item::Deadline))))
}

fn export(policy: &Policy) -> Values {
    let mut values = exponential::export(policy);
    values.put(Item::Codes, 0);
    if let Some(deadline) = policy.deadline() {
        values.put(Item::Deadline, deadline.as_nanos());
    }
    values
}

/// Adds the values of a hedge in one round and of a throttle; fails with the path of a field that gRPC does not have.
pub(super) fn export_guards(values: &mut Values, policy: &Policy, guards: &Options) -> Result<(), &'static str> {
    let broken = |error: Error| error.field.map_or("", Field::path);
    if let Some(hedge) = guards.hedge().map_err(broken)? {
        match () {
            () if hedge.percentile().is_some() => return Err(Field::HedgePercentile.path()),
            () if policy.attempts().unwrap_or(0) != hedge.attempts() => return Err(Field::HedgeAttempts.path()),
            () => {}
        }
        RETRY.iter().for_each(|row| values.remove(row.item));
        values.put(Item::HedgeAttempts, hedge.attempts().into());
        values.put(Item::HedgeDelay, hedge.fixed_delay().as_nanos());
    }
    if guards.budget().map_err(broken)?.is_some() {
        let (tokens, ratio) = (guards.or_default(Field::BudgetCapacity), guards.real(Field::BudgetReward));
        if !guards.is(Field::BudgetKind, "throttle") || tokens > 1000 || ratio <= 0.0 {
            return Err("budget");
        }
        values.put(Item::Tokens, tokens);
        values.put(Item::Ratio, ratio.to_bits());
    }
    Ok(())
}

/// Writes a service config with the policy for every method.
pub(super) fn write(values: &Values, config: &mut Open<'_>) -> fmt::Result {
    let lists = &mut core::iter::empty();
    values.write(&THROTTLING, lists, config)?;
    let mut list = Open::new(config.field(METHOD_CONFIG)?, '[')?;
    let mut entry = Open::new(list.item()?, '{')?;
    entry.field("name")?.write_str("[{}]")?;
    for table in [&ENTRY[..], &HEDGING, &RETRY] {
        values.write(table, lists, &mut entry)?;
    }
    entry.end('}')?;
    list.end(']')
}
