//! Tokens that drip into a bucket: so many a second on the long run, and so many at once.
//!
//! A reservation takes tokens that are not there yet and says when they will be, so that callers queue up in time without a
//! queue. The arithmetic is that of Go's `golang.org/x/time/rate`, in doubles and in its order, so that limiters in both
//! worlds let the same calls through (spec 20).

use crate::decide::backoff::{real, truncated};
use crate::error::{Error, ErrorCode, Quantity};
use crate::time::{Span, Timestamp};

/// How fast a bucket fills and how much it holds: 24 bytes, `Copy`, plain numbers; every bit pattern is valid.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub struct BucketConfig {
    rate: f64,
    per: u64,
    burst: u64,
}

impl BucketConfig {
    /// `rate` tokens each `per`, at most `burst` of them kept. A rate of 0 never fills it again, a burst of 0 lets nothing
    /// through.
    ///
    /// # Errors
    /// [`ErrorCode::FactorRange`] unless `rate` is finite and from 0 on; [`ErrorCode::ZeroLimit`] for a `per` of zero.
    pub fn new(rate: f64, per: Span, burst: u64) -> Result<Self, Error> {
        if !(rate >= 0.0 && rate.is_finite()) {
            return Err(Error { value: Quantity::Number(rate), ..Error::of_use(ErrorCode::FactorRange) });
        }
        if per == Span::ZERO {
            return Err(Error { value: Quantity::Span(per), ..Error::of_use(ErrorCode::ZeroLimit) });
        }
        Ok(Self { rate, per: per.as_nanos(), burst })
    }

    /// `rate` tokens a second, where the unit of time is the nanosecond: Go's `rate.NewLimiter`.
    ///
    /// # Errors
    /// As [`BucketConfig::new`].
    pub fn per_second(rate: f64, burst: u64) -> Result<Self, Error> {
        Self::new(rate, Span::from_secs(1), burst)
    }

    /// Of numbers that were checked elsewhere.
    pub(crate) const fn unchecked(rate: f64, per: u64, burst: u64) -> Self {
        Self { rate, per, burst }
    }

    /// How long an empty bucket takes to fill.
    pub(crate) fn filling(&self) -> Span {
        lasting(self, self.burst as f64)
    }
}

/// The tokens of one bucket: 16 bytes, `Copy`. Zeroes are a bucket that was empty at the epoch.
///
/// # Contract
/// [`Bucket::reserve`] and [`Bucket::reserve_within`] take tokens and say how long to wait for them before acting; what is
/// taken is not given back. Between two of them with the same [`BucketConfig`] the bucket fills. Time is monotonic: a `now`
/// before the latest one reads as that one (spec 1.3). Every bit pattern of the state is valid and no input panics.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[repr(C)]
pub struct Bucket {
    /// Below zero by what is reserved and not there yet.
    tokens: f64,
    latest: u64,
}

impl Bucket {
    /// A full bucket.
    pub const fn full(config: &BucketConfig, now: Timestamp) -> Self {
        Self { tokens: config.burst as f64, latest: now.as_now().as_nanos() }
    }

    /// Takes `count` tokens at `now` and says how long from then they take to be there; [`Span::MAX`] when they never will.
    /// `None`, and nothing is taken, for more than a burst.
    pub fn reserve(&mut self, config: &BucketConfig, count: u64, now: Timestamp) -> Option<Span> {
        self.reserve_within(config, count, now, Span::MAX)
    }

    /// [`Bucket::reserve`], unless that is longer than `longest`; zero takes only what is there.
    pub fn reserve_within(&mut self, config: &BucketConfig, count: u64, now: Timestamp, longest: Span) -> Option<Span> {
        let tokens = self.tokens_at(config, now) - count as f64;
        let wait = if tokens < 0.0 { lasting(config, -tokens) } else { Span::ZERO };
        if count > config.burst || wait > longest {
            return None;
        }
        self.tokens = tokens;
        self.latest = self.latest.max(now.as_now().as_nanos());
        Some(wait)
    }

    /// Puts back `count` tokens that were taken and not used, as far as the bucket holds them.
    pub(crate) fn give_back(&mut self, config: &BucketConfig, count: u64, now: Timestamp) {
        let (tokens, burst) = (self.tokens_at(config, now) + count as f64, config.burst as f64);
        self.tokens = if tokens <= burst { tokens } else { burst };
        self.latest = self.latest.max(now.as_now().as_nanos());
    }

    /// The bits of the tokens, and the latest time.
    pub(crate) const fn words(self) -> [u64; 2] {
        [self.tokens.to_bits(), self.latest]
    }

    /// The bucket of those words.
    pub(crate) const fn from_words([tokens, latest]: [u64; 2]) -> Self {
        Self { tokens: f64::from_bits(tokens), latest }
    }

    /// The tokens there are at `now`; negative while some are reserved that are not there yet.
    pub fn tokens_at(&self, config: &BucketConfig, now: Timestamp) -> f64 {
        let elapsed = now.as_now().since(Timestamp::from_nanos(self.latest)).as_nanos();
        let whole = elapsed.checked_div(config.per).unwrap_or(0);
        let rest = elapsed.checked_rem(config.per).unwrap_or(0);
        let tokens = self.tokens + (real(whole) + real(rest) / real(config.per)) * config.rate;
        let burst = config.burst as f64;
        // False for a number that is none, which a foreign state may hold.
        if tokens <= burst { tokens } else { burst }
    }
}

/// How long that many tokens take to drip in.
fn lasting(config: &BucketConfig, tokens: f64) -> Span {
    if config.rate <= 0.0 {
        return Span::MAX;
    }
    Span::from_nanos(truncated((tokens / config.rate) * real(config.per)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    const fn at(nanos: u64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    #[test]
    fn a_burst_passes_and_the_rest_queues_up_in_time() {
        let config = BucketConfig::per_second(10.0, 2).unwrap();
        let mut bucket = Bucket::full(&config, at(0));
        for (now, wait) in [(0, 0), (0, 0), (0, 100), (0, 200), (50, 250), (5000, 0)] {
            assert_eq!(bucket.reserve(&config, 1, at(now * MS)), Some(Span::from_millis(wait)), "{now}");
        }
    }

    #[test]
    fn an_interval_that_no_double_holds_is_cut() {
        let config = BucketConfig::per_second(3.0, 1).unwrap();
        let mut bucket = Bucket::full(&config, at(0));
        let waits = [0; 4].map(|now| bucket.reserve(&config, 1, at(now)).unwrap().as_nanos());
        assert_eq!(waits, [0, 333_333_333, 666_666_666, 1_000_000_000]);
    }

    #[test]
    fn more_than_a_burst_is_refused_and_takes_nothing() {
        let config = BucketConfig::per_second(10.0, 2).unwrap();
        let mut bucket = Bucket::full(&config, at(0));
        assert_eq!(bucket.reserve(&config, 3, at(0)), None);
        assert_eq!(bucket.reserve_within(&config, 2, at(0), Span::ZERO), Some(Span::ZERO));
        assert_eq!(bucket.reserve_within(&config, 1, at(99 * MS), Span::ZERO), None);
        assert_eq!(bucket.reserve_within(&config, 1, at(100 * MS), Span::ZERO), Some(Span::ZERO));
    }

    #[test]
    fn without_a_rate_a_bucket_stays_empty() {
        let config = BucketConfig::per_second(0.0, 1).unwrap();
        let mut bucket = Bucket::full(&config, at(0));
        assert_eq!([0; 2].map(|_| bucket.reserve(&config, 1, at(0))), [Some(Span::ZERO), Some(Span::MAX)]);
    }

    #[test]
    fn a_clock_that_runs_backwards_fills_nothing_twice() {
        let config = BucketConfig::per_second(10.0, 1).unwrap();
        let mut bucket = Bucket::full(&config, at(1000 * MS));
        bucket.reserve(&config, 1, at(1000 * MS));
        bucket.reserve(&config, 1, at(0));
        assert_eq!(bucket.tokens_at(&config, at(1000 * MS)), -1.0);
    }

    #[test]
    fn rates_that_are_no_rates_are_refused() {
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(BucketConfig::per_second(bad, 1).unwrap_err().code, ErrorCode::FactorRange);
        }
        assert_eq!(BucketConfig::new(1.0, Span::ZERO, 1).unwrap_err().code, ErrorCode::ZeroLimit);
    }

    #[test]
    fn the_machine_is_its_bytes() {
        assert_eq!((size_of::<Bucket>(), size_of::<BucketConfig>()), (16, 24));
    }

    proptest! {
        #[test]
        fn no_numbers_panic(words: [u64; 5], count: u64, now: u64) {
            let [rate, per, burst, tokens, latest] = words;
            let config = BucketConfig { rate: f64::from_bits(rate), per, burst };
            let mut bucket = Bucket { tokens: f64::from_bits(tokens), latest };
            bucket.reserve(&config, count, at(now));
            prop_assert!(!bucket.tokens_at(&config, at(now)).is_nan());
        }

        #[test]
        fn no_more_passes_than_the_rate_and_a_burst(
            gaps in prop::collection::vec(0u64..500, 1..60), rate in 1u64..50, burst in 1u64..10
        ) {
            let config = BucketConfig::per_second(rate as f64, burst).unwrap();
            let (mut bucket, mut now, mut passed) = (Bucket::full(&config, at(0)), 0, 0_u64);
            for gap in gaps {
                now += gap * MS;
                passed += u64::from(bucket.reserve_within(&config, 1, at(now), Span::ZERO).is_some());
                prop_assert!(passed as f64 <= burst as f64 + now as f64 / 1e9 * rate as f64 + 1e-6);
            }
        }
    }
}
