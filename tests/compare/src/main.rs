//! Random options, steps, errors and fingerprints: the core must decide, refuse and save as the earlier core does.

use std::process::ExitCode;

/// Random numbers: SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    fn nanos(&mut self) -> u64 {
        match self.below(12) {
            0 => 0,
            1 => 1,
            2 => i64::MAX as u64,
            3 => self.below(1 << 50),
            _ => (1 + self.below(2000)) * 5_000_000,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Value {
    Text(&'static str),
    Number(f64),
    Nanos(u64),
    Flag(bool),
}

macro_rules! value {
    ($core:ident, $value:expr) => {
        match $value {
            Value::Text(text) => $core::Value::Text(text),
            Value::Number(value) => $core::Value::Number { value, unit: 1.0 },
            Value::Nanos(nanos) => $core::Value::Nanos(nanos),
            Value::Flag(flag) => $core::Value::Flag(flag),
        }
    };
}

const BACKOFFS: [&str; 8] =
    ["constant", "linear", "exponential", "polynomial", "fibonacci", "list", "decorrelated", "decorrelated_v2"];
const JITTERS: [&str; 7] = ["none", "full", "equal", "additive", "proportional", "bounded", "subtractive"];
const REALS: [f64; 10] = [0.0, 0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 1.0001, -1.0, f64::INFINITY];
const PRESETS: [&str; 15] = [
    "default",
    "langgraphgo",
    "langgraphgo-graph",
    "kubernetes",
    "aster",
    "aws-standard-2.0",
    "aws-standard-2.1",
    "grpc",
    "temporal",
    "google-cloud",
    "resilience4j",
    "polly",
    "chromium",
    "tenacity-random-exponential",
    "aws-adaptive",
];

/// Options that both cores get, field by field.
struct Case {
    random: Random,
    before: before::Options,
    now: now::Options,
    given: Vec<String>,
    is_refused: bool,
    /// What the two cores said differently.
    difference: Option<String>,
}

impl Case {
    fn set(&mut self, path: String, value: Value) {
        if self.is_refused {
            return;
        }
        let before = self.before.set(&path, value!(before, value)).err().map(|e| (e.code as u16, e.path().to_string()));
        let now = self.now.set(&path, value!(now, value)).err().map(|e| (e.code as u16, e.path().to_string()));
        self.is_refused = before.is_some();
        if before != now {
            self.difference = Some(format!("{before:?} / {now:?}"));
        }
        self.given.push(format!("{path} = {value:?}"));
    }

    /// Sets a field in so many of a hundred cases.
    fn maybe(&mut self, percent: u64, path: String, value: impl FnOnce(&mut Random) -> Value) {
        if self.random.chance(percent) {
            let value = value(&mut self.random);
            self.set(path, value);
        }
    }

    fn shared(&mut self, at: &str) {
        if self.random.chance(25) {
            let kind = self.random.one(&JITTERS);
            self.set(format!("{at}jitter.kind"), Value::Text(kind));
            let needs = |of: &[&str]| if of.contains(&kind) { 95 } else { 5 };
            self.maybe(needs(&["additive", "proportional", "subtractive"]), format!("{at}jitter.factor"), real);
            self.maybe(needs(&["bounded"]), format!("{at}jitter.bound"), nanos);
            self.maybe(needs(&["bounded"]) / 3, format!("{at}jitter.grows"), |r| Value::Flag(r.chance(80)));
        }
        self.maybe(20, format!("{at}cap"), words(&["keep_spread", "before_jitter", "clip"]));
        if self.random.chance(20) {
            let modes = &["floor", "replace", "ignore", "exact", "at_least"];
            self.maybe(90, format!("{at}hint.mode"), words(modes));
            self.maybe(50, format!("{at}hint.max"), nanos);
            self.maybe(50, format!("{at}hint.over"), words(&["stop", "clamp", "ignore"]));
            self.maybe(30, format!("{at}hint.reach"), nanos);
        }
    }

    /// A stage of a backoff, which `ends` where another one follows.
    fn stage(&mut self, at: &str, ends: bool, rare: bool) {
        let usual = self.random.chance(70);
        let kind =
            self.random.one(if usual { &["constant", "exponential", "decorrelated", "linear"] } else { &BACKOFFS });
        let is_list = kind == "list";
        self.maybe(if is_list { 50 } else { 95 }, format!("{at}.kind"), |_| Value::Text(kind));
        if is_list {
            for index in 0..1 + self.random.below(4) {
                self.maybe(100, format!("{at}.delays[{index}]"), |r| Value::Nanos(r.nanos() >> 8));
            }
        } else {
            let first = if kind == "constant" { "delay" } else { "initial" };
            self.maybe(80, format!("{at}.{first}"), nanos);
        }
        let of = |kinds: &[&str]| if kinds.contains(&kind) { 55 } else { 1 };
        self.maybe(of(&["exponential", "decorrelated"]), format!("{at}.factor"), real);
        self.maybe(of(&["linear"]), format!("{at}.increment"), nanos);
        self.maybe(of(&["polynomial"]), format!("{at}.exponent"), real);
        self.maybe(if is_list || kind == "constant" { 1 } else { 60 }, format!("{at}.max"), nanos);
        self.maybe(if ends && !is_list { 96 } else { 3 }, format!("{at}.times"), |r| {
            Value::Number(1.0 + r.below(4) as f64)
        });
        if rare {
            self.maybe(15, format!("{at}.floor"), nanos);
            self.maybe(15, format!("{at}.offset"), nanos);
            self.maybe(of(&["polynomial"]), format!("{at}.from"), |r| Value::Number(r.below(9) as f64));
            self.maybe(8, format!("{at}.until"), nanos);
            self.maybe(if ends { 0 } else { 10 }, format!("{at}.repeat"), |_| Value::Flag(true));
            if at.ends_with(']') {
                self.shared(&format!("{at}."));
            }
        }
    }

    fn backoff(&mut self, at: &str, rare: bool) {
        if self.random.chance(55) {
            return self.stage(&format!("{at}backoff"), false, rare);
        }
        let count = 1 + self.random.below(4);
        for index in 0..count {
            self.stage(&format!("{at}backoff[{index}]"), index + 1 < count, rare);
        }
    }

    fn new(seed: u64) -> Self {
        let (before, now) = (before::Policy::options(), now::Policy::options());
        let mut case =
            Self { random: Random(seed), before, now, given: Vec::new(), is_refused: false, difference: None };
        let rare = case.random.chance(50);
        case.maybe(15, "preset".into(), words(&PRESETS));
        if case.random.chance(70) {
            case.backoff("", rare);
        }
        case.shared("");
        case.maybe(65, "attempts".into(), |r| Value::Number(1.0 + r.below(12) as f64));
        case.maybe(15, "attempts".into(), words(&["forever"]));
        case.maybe(40, "deadline".into(), nanos);
        case.maybe(20, "attempt_timeout".into(), nanos);
        case.maybe(30, "min_attempt".into(), |r| Value::Nanos(r.nanos() / 4));
        case.maybe(25, "on_deadline".into(), words(&["stop", "clip"]));
        if rare {
            case.maybe(15, "total".into(), |r| Value::Number(1.0 + r.below(9) as f64));
            case.maybe(15, "limits".into(), words(&["first", "last"]));
            case.maybe(15, "deadline_from".into(), words(&["start", "first_failure"]));
            case.maybe(15, "delay_from".into(), words(&["failure", "start"]));
            case.maybe(15, "abort_at_deadline".into(), |_| Value::Flag(false));
            case.maybe(15, "reset_after".into(), nanos);
            for rule in 0..case.random.below(4) {
                let at = format!("rules[{rule}].");
                case.maybe(100, format!("{at}if.kinds[0]"), words(&["transient", "throttled", "timeout"]));
                case.maybe(5, format!("{at}retry"), |r| Value::Flag(r.chance(50)));
                case.maybe(50, format!("{at}attempts"), |r| Value::Number(1.0 + r.below(5) as f64));
                if case.random.chance(50) {
                    case.backoff(&at, true);
                }
                if case.random.chance(50) {
                    case.shared(&at);
                }
            }
        }
        case
    }

    /// Builds both policies and plays a call under them; counts what was done.
    fn play(&mut self, seed: u64, counts: &mut Counts) {
        if self.is_refused || self.difference.is_some() {
            counts.refused += 1;
            return;
        }
        let (before, now) = match (self.before.build(), self.now.build()) {
            (Ok(before), Ok(now)) => (before, now),
            (before, now) => {
                counts.refused += 1;
                let before = before.err().map(|e| (e.code as u16, e.path().to_string(), e.value.to_string()));
                let now = now.err().map(|e| (e.code as u16, e.path().to_string(), e.value.to_string()));
                if before != now {
                    self.difference = Some(format!("{before:?} / {now:?}"));
                }
                return;
            }
        };
        counts.built += 1;
        if before.fingerprint() != now.fingerprint() {
            self.difference = Some("another fingerprint".into());
            return;
        }
        let random = &mut self.random;
        let mut at = random.below(1 << 40);
        let mut one = before::Call::begin(&before, seed, before::Timestamp::from_nanos(at));
        let mut two = now::Call::begin(&now, seed, now::Timestamp::from_nanos(at));
        for step in 0..14 {
            counts.steps += 1;
            let steps = (format!("{:?}", before::RawStep::from(one.1)), format!("{:?}", now::RawStep::from(two.1)));
            if steps.0 != steps.1 {
                self.difference = Some(format!("step {step}: {} / {}", steps.0, steps.1));
                return;
            }
            match one.1 {
                before::Step::Attempt { ticket, .. } => {
                    at = at.saturating_add(random.nanos() % (1 << 36));
                    let kind = if random.chance(3) { 4 } else { 1 + random.below(3) as u32 };
                    let hint = match random.below(8) {
                        0 => random.nanos(),
                        1 => (1 + random.below(70)) * 1_000_000_000,
                        2 if random.chance(5) => u64::MAX - 1,
                        _ => u64::MAX,
                    };
                    macro_rules! fail {
                        ($core:ident, $call:ident, $policy:ident) => {{
                            let kind = $core::FailureKind::from_code(kind).expect("a kind");
                            let failure = $core::Failure::new(kind).with_hint($core::Hint::from_raw(hint));
                            let ticket = $core::Ticket::from_raw(ticket.as_raw());
                            $call.1 = $call.0.fail(&$policy, ticket, $core::Timestamp::from_nanos(at), failure);
                        }};
                    }
                    fail!(before, one, before);
                    fail!(now, two, now);
                }
                before::Step::Sleep { until, .. } => {
                    let late = if random.chance(20) { random.nanos() % (1 << 36) } else { 0 };
                    at = until.as_nanos().saturating_add(late);
                    one.1 = one.0.tick(&before, before::Timestamp::from_nanos(at));
                    two.1 = two.0.tick(&now, now::Timestamp::from_nanos(at));
                }
                _ => return,
            }
        }
    }
}

fn nanos(random: &mut Random) -> Value {
    Value::Nanos(random.nanos())
}

fn real(random: &mut Random) -> Value {
    Value::Number(random.one(&REALS))
}

fn words(words: &[&'static str]) -> impl FnOnce(&mut Random) -> Value {
    |random| Value::Text(random.one(words))
}

#[derive(Default)]
struct Counts {
    built: u64,
    refused: u64,
    steps: u64,
}

fn main() -> ExitCode {
    let wanted = std::env::args().nth(1).and_then(|steps| steps.parse().ok()).unwrap_or(1_000_000);
    let (mut counts, mut differ) = (Counts::default(), 0);
    let mut seed = 0;
    while counts.steps < wanted {
        let mut case = Case::new(seed);
        case.play(seed, &mut counts);
        if let Some(difference) = case.difference {
            differ += 1;
            if differ < 10 {
                println!("case {seed}: {difference}: {:?}", case.given);
            }
        }
        seed += 1;
    }
    let Counts { built, refused, steps } = counts;
    println!("{seed} options, {built} policies, {refused} refused, {steps} steps: {differ} differ");
    if differ == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
