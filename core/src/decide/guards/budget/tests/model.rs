//! Every budget against a slow and obvious one that keeps all that ever happened, on 100,000 random sequences of events.

use super::*;
use crate::decide::rng::Rng;

/// What ever happened to a budget. Times are nanoseconds since it was made, each at least the one before.
#[derive(Default)]
struct Model {
    /// When a call began, an attempt was asked for, an answer came.
    begun: Vec<u64>,
    asked: Vec<u64>,
    answered: Vec<u64>,
    /// When a retry was allowed and which; what was refunded.
    allowed: Vec<(u64, usize)>,
    refunded: Vec<usize>,
    /// Calls and retries under way.
    active: usize,
    retrying: usize,
    /// Thousandths of a token, when they were last refilled, and billionths of a thousandth that are on their way.
    tokens: u64,
    latest: u64,
    drops: u64,
}

/// A configuration in whole numbers.
#[derive(Clone, Copy, Debug)]
enum Rule {
    Token {
        capacity: u64,
        costs: [u64; 3],
        reward: u64,
        refill: u64,
    },
    Throttle {
        capacity: u64,
        reward: u64,
    },
    /// A retry takes `withdrawal` thousandths of a call; `least` of them there are in any case.
    Ratio {
        withdrawal: u64,
        least: u64,
        slot: u64,
    },
    /// A retry for each `calls`.
    Share {
        calls: usize,
        least: usize,
    },
    Requests {
        k: u64,
        slot: u64,
    },
    Window {
        limit: usize,
        window: u64,
    },
}

impl Rule {
    fn random(rng: &mut Rng) -> Self {
        let mut upto = |most: u32| u64::from(rng.next_u32() % (most + 1));
        match upto(5) {
            0 => Self::Token {
                capacity: upto(30) * 1000,
                costs: [upto(9) * 1000, upto(9) * 1000, upto(9) * 1000],
                reward: upto(3000),
                refill: upto(5) * upto(16) * 125,
            },
            1 => Self::Throttle { capacity: (1 + upto(9)) * 1000, reward: upto(2000) },
            2 => {
                let withdrawal = [500, 1000, 1000, 2500, 5000, 10_000][upto(5) as usize];
                Self::Ratio { withdrawal, least: upto(3), slot: 1 + upto(40) }
            }
            3 => Self::Share { calls: 1 + upto(5) as usize, least: upto(3) as usize },
            4 => Self::Requests { k: upto(3), slot: 1 + upto(40) },
            _ => Self::Window { limit: upto(4) as usize, window: 1 + upto(200) },
        }
    }

    /// The same for the machine. A slot is so many milliseconds.
    fn config(self) -> BudgetConfig {
        let whole = |thousandths: u64| (thousandths / 1000) as u32;
        let config = match self {
            Self::Token { capacity, costs: [cost, timeout_cost, throttled_cost], reward, refill } => {
                BudgetConfig::token(
                    whole(capacity),
                    [whole(cost), whole(timeout_cost), whole(throttled_cost)],
                    format(reward),
                    format(refill),
                )
            }
            Self::Throttle { capacity, reward } => BudgetConfig::throttle(whole(capacity), format(reward)),
            Self::Ratio { withdrawal, least, slot } => BudgetConfig::ratio(
                1000.0 / withdrawal as f64,
                Span::from_millis(slot * 10),
                (least as f64 + 1e-6) / (slot as f64 / 100.0),
            ),
            Self::Share { calls, least } => {
                // A hair more than one for so many, which is cut.
                BudgetConfig::share(1.0 / calls as f64 + 1e-9, least as u32)
            }
            Self::Requests { k, slot } => BudgetConfig::requests(k as f64, Span::from_millis(slot * 10)),
            Self::Window { limit, window } => BudgetConfig::window(limit as u32, Span::from_millis(window)),
        };
        config.unwrap()
    }
}

/// How many of those times are in the ten slots up to that of `now`.
fn recent(times: impl Iterator<Item = u64>, slot: u64, now: u64) -> u64 {
    times.filter(|time| time / (slot * MS) + 9 >= now / (slot * MS)).count() as u64
}

impl Model {
    /// Retries that were allowed and not refunded, when.
    fn kept(&self) -> impl Iterator<Item = u64> {
        self.allowed.iter().filter(|(_, retry)| !self.refunded.contains(retry)).map(|(time, _)| *time)
    }

    fn refill(&mut self, rule: Rule, now: u64) {
        let Rule::Token { capacity, refill, .. } = rule else { return };
        let drops = self.drops + (now - self.latest) * refill;
        self.tokens += drops / 1_000_000_000;
        self.drops = drops % 1_000_000_000;
        if self.tokens >= capacity {
            (self.tokens, self.drops) = (capacity, 0);
        }
        self.latest = now;
    }

    fn add(&mut self, rule: Rule, thousandths: u64) {
        if let Rule::Token { capacity, .. } | Rule::Throttle { capacity, .. } = rule {
            self.tokens = (self.tokens + thousandths).min(capacity);
        }
    }

    /// Attempts and answers that count.
    fn requests(&self, slot: u64, now: u64) -> (u64, u64) {
        (recent(self.asked.iter().copied(), slot, now), recent(self.answered.iter().copied(), slot, now))
    }

    fn rejection(&self, rule: Rule, now: u64) -> f64 {
        let Rule::Requests { k, slot } = rule else { return 0.0 };
        let (asked, answered) = self.requests(slot, now);
        asked.saturating_sub(k * answered) as f64 / (asked + 1) as f64
    }

    /// What there is: thousandths of tokens or whole retries.
    fn balance(&self, rule: Rule, now: u64) -> u64 {
        match rule {
            Rule::Token { .. } | Rule::Throttle { .. } => self.tokens,
            Rule::Ratio { withdrawal, least, slot } => {
                let deposits = recent(self.begun.iter().copied(), slot, now) * 1000 + least * withdrawal;
                deposits.saturating_sub(recent(self.kept(), slot, now) * withdrawal) / withdrawal
            }
            Rule::Share { calls, least } => (self.active / calls).max(least).saturating_sub(self.retrying) as u64,
            Rule::Requests { k, slot } => {
                let (asked, answered) = self.requests(slot, now);
                (k * answered).saturating_sub(asked)
            }
            Rule::Window { limit, window } => {
                let used = self.kept().filter(|time| time / (window * MS) == now / (window * MS)).count();
                (limit - used) as u64
            }
        }
    }

    /// What the retry cost if it is allowed.
    fn withdraw(&mut self, rule: Rule, now: u64, kind: FailureKind) -> Option<u64> {
        let cost = match (rule, kind) {
            (Rule::Token { costs, .. }, FailureKind::Timeout) => costs[1],
            (Rule::Token { costs, .. }, FailureKind::Throttled) => costs[2],
            (Rule::Token { costs, .. }, _) => costs[0],
            _ => 0,
        };
        let allowed = match rule {
            Rule::Token { .. } => self.tokens >= cost,
            Rule::Throttle { capacity, .. } => self.tokens * 2 > capacity,
            Rule::Requests { .. } => true,
            _ => self.balance(rule, now) > 0,
        };
        if allowed {
            self.tokens -= cost;
            self.allowed.push((now, self.allowed.len()));
            self.retrying += 1;
        }
        allowed.then_some(cost)
    }
}

/// A retry that was allowed: what the machine says is held, its cost, and which it was.
type Retry = (Withdrawal, u64, usize);

fn sequence(seed: u64) {
    let mut rng = Rng::new(seed);
    let rule = Rule::random(&mut rng);
    let config = rule.config();
    let start = u64::from(rng.next_u32());
    let mut budget = Budget::new(&config, rng.next_u32().into(), Timestamp::from_nanos(start));
    let mut model = Model::default();
    if let Rule::Token { capacity, .. } | Rule::Throttle { capacity, .. } = rule {
        model.tokens = capacity;
    }
    let mut held: Vec<Retry> = Vec::new();
    let (mut now, events) = (0_u64, 1 + rng.next_u32() % 40);
    for _ in 0..events {
        now += match rng.next_u32() % 8 {
            0..=3 => 0,
            4 => u64::from(rng.next_u32() % 500) * MS,
            _ => u64::from(rng.next_u32() % 40_000_000),
        };
        // Every now and then a clock runs backwards, which changes nothing.
        let back = if rng.next_u32().is_multiple_of(10) { u64::from(rng.next_u32()).min(now) } else { 0 };
        let time = Timestamp::from_nanos(start + now);
        if back > 0 {
            // What it is to go back from must have been seen, by something that changes nothing or the same in both.
            match rule {
                Rule::Token { .. } => budget.refund(&config, time, Withdrawal(0)),
                Rule::Ratio { .. } | Rule::Window { .. } => budget.refund(&config, time, Withdrawal(u32::MAX / 2)),
                Rule::Requests { .. } => {
                    budget.succeed(&config, time, None);
                    model.answered.push(now);
                }
                Rule::Throttle { .. } | Rule::Share { .. } => {}
            }
        }
        let time = Timestamp::from_nanos(start + now - back);
        model.refill(rule, now);
        let kind = FailureKind::ALL[rng.next_u32() as usize % 4];
        let retry = if held.is_empty() { None } else { Some(held.remove(rng.next_u32() as usize % held.len())) };
        match rng.next_u32() % 8 {
            0 | 1 => {
                budget.begin(&config, time);
                model.begun.push(now);
                model.active += 1;
                held.extend(retry);
            }
            2 => {
                budget.end(&config, None);
                model.active = model.active.saturating_sub(1);
                held.extend(retry);
            }
            3 => {
                let rejection = model.rejection(rule, now);
                let admitted = budget.admit(&config, time);
                assert!(admitted || rejection > 0.0, "seed {seed}: {rule:?}");
                model.asked.push(now);
                held.extend(retry);
            }
            4 => {
                budget.fail(&config, time, kind);
                match rule {
                    Rule::Throttle { .. } if kind != FailureKind::Permanent => {
                        model.tokens = model.tokens.saturating_sub(1000);
                    }
                    Rule::Requests { .. } if kind == FailureKind::Permanent => model.answered.push(now),
                    _ => {}
                }
                held.extend(retry);
            }
            5 => {
                let got = budget.withdraw(&config, time, kind, budget.refusals());
                let expected = model.withdraw(rule, now, kind);
                assert_eq!(got.is_some(), expected.is_some(), "seed {seed}: {rule:?}");
                held.extend(retry);
                held.extend(got.zip(expected).map(|(got, cost)| (got, cost, model.allowed.len() - 1)));
            }
            6 => {
                budget.succeed(&config, time, retry.map(|(held, ..)| held));
                model.answered.push(now);
                match rule {
                    Rule::Token { reward, .. } => model.add(rule, retry.map_or(reward, |(_, cost, _)| cost)),
                    Rule::Throttle { reward, .. } => model.add(rule, reward),
                    _ => {}
                }
                if retry.is_some() {
                    budget.retried(&config);
                    model.retrying = model.retrying.saturating_sub(1);
                }
            }
            _ => {
                if let Some((paid, cost, which)) = retry {
                    budget.refund(&config, time, paid);
                    model.refunded.push(which);
                    model.retrying = model.retrying.saturating_sub(1);
                    if matches!(rule, Rule::Token { .. }) {
                        model.add(rule, cost);
                    }
                }
            }
        }
        let expected = model.balance(rule, now) as f64;
        let scale = if matches!(rule, Rule::Token { .. } | Rule::Throttle { .. }) { 1000.0 } else { 1.0 };
        assert_eq!(budget.balance(&config, time), expected / scale, "seed {seed}: {rule:?}");
        assert_eq!(budget.rejection(&config, time), model.rejection(rule, now), "seed {seed}: {rule:?}");
    }
}

#[test]
fn the_machine_does_what_the_obvious_one_does() {
    (0..100_000).for_each(sequence);
}
