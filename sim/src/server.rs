//! A server of fixed capacity that does not know whether anybody still waits for its answer.
//!
//! It takes requests in the order they come, one after the other. Work on a request whose client has given up is not
//! recognised as such, and this is what lets an overload outlive its cause: when the wait in the queue is longer than the
//! clients' patience, a busy server answers nobody (Bronson and others, "Metastable failures in distributed systems", 2021).

use crate::SECOND;
use holdoff_core::Rng;
use serde::Deserialize;
use std::ops::Range;

/// A fault of the server for a while.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Fault {
    /// It is down: what it has not answered by then is lost, and so is what comes before it is up again.
    Down,
    /// The same, and it comes back with a full queue of requests whose clients have given up.
    DownThenFull,
    /// It is down, and refuses each request at once instead of not answering.
    Refused,
    /// The same, and it comes back with a full queue.
    RefusedThenFull,
    /// It is down and up in turn, for that many milliseconds each.
    Flapping {
        /// How long.
        ms: f64,
    },
    /// It works at half its speed.
    Slow,
    /// A share of the requests fails at once, each by itself.
    Errors {
        /// The share, from 0 to 1.
        share: f64,
    },
    /// A share of the requests gets no answer, each by itself.
    Timeouts {
        /// The share, from 0 to 1.
        share: f64,
    },
    /// It takes only a share of the requests that it could answer, and refuses the others with a Retry-After.
    RateLimit {
        /// The share of its capacity, above 0.
        share: f64,
        /// The Retry-After, in seconds.
        retry_after: f64,
    },
    /// It is down, and comes back with an empty cache: a request takes longer until it has answered enough of them.
    ColdCache {
        /// How many times as long the first request takes.
        factor: f64,
        /// After how many requests the cache is full.
        requests: u64,
    },
}

/// The name of a number, the number, and its range.
type Number = (&'static str, f64, Range<f64>);

impl Fault {
    /// Its numbers, with the ranges that they must be in.
    pub(crate) fn numbers(self) -> Vec<Number> {
        match self {
            Self::Down | Self::DownThenFull | Self::Refused | Self::RefusedThenFull | Self::Slow => Vec::new(),
            Self::Flapping { ms } => vec![("fault.ms", ms, 1.0..1e6)],
            Self::Errors { share } | Self::Timeouts { share } => vec![("fault.share", share, 0.0..1.0)],
            Self::RateLimit { share, retry_after } => {
                vec![("fault.share", share, 0.001..100.0), ("fault.retry_after", retry_after, 0.0..86_400.0)]
            }
            Self::ColdCache { factor, requests } => {
                vec![("fault.factor", factor, 1.0..1000.0), ("fault.requests", requests as f64, 1.0..1e9)]
            }
        }
    }

    /// True while requests get no answer because of it.
    const fn is_down(self) -> bool {
        matches!(self, Self::Down | Self::DownThenFull | Self::ColdCache { .. })
    }
}

/// The fate of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Answered at that time.
    Answered(u64),
    /// Turned away at once: the queue is full.
    TurnedAway,
    /// Refused at once: the rate is limited.
    Limited,
    /// Failed at once.
    Failed,
    /// Never answered.
    Lost,
}

/// A limited rate lets the requests of so long a time through at once.
const BURST: u64 = SECOND;

/// The server's state; times in nanoseconds.
#[derive(Clone, Debug)]
pub struct Server {
    /// How long it works on one request.
    service: u64,
    /// The longest wait it lets a newcomer in for.
    queue: u64,
    fault: Fault,
    ill: Range<u64>,
    /// When it has done all that it has taken.
    free_at: u64,
    /// When a limited rate is used up to the last request.
    paid_until: u64,
    /// How many requests it has answered since it came back with an empty cache.
    cached: u64,
    /// Draws the requests that fail.
    rng: Rng,
}

impl Server {
    /// A server that needs `service` for a request, turns requests away that would wait longer than `queue`, and is `ill` for
    /// a time. The requests that fail are drawn from `seed`.
    #[must_use]
    pub fn new(service: u64, queue: u64, fault: Fault, ill: Range<u64>, seed: u64) -> Self {
        Self { service, queue, fault, ill, free_at: 0, paid_until: 0, cached: 0, rng: Rng::new(seed) }
    }

    /// A request comes in at `now`, which is never before the latest one.
    pub fn offer(&mut self, now: u64) -> Fate {
        if self.ill.contains(&now) {
            match self.fault {
                Fault::Down | Fault::ColdCache { .. } => {
                    self.free_at = self.ill.end;
                    return Fate::Lost;
                }
                Fault::DownThenFull => {
                    self.free_at = self.ill.end + self.queue;
                    return Fate::Lost;
                }
                Fault::Refused => return Fate::Failed,
                Fault::RefusedThenFull => {
                    self.free_at = self.ill.end + self.queue;
                    return Fate::Failed;
                }
                Fault::Flapping { ms } if ((now - self.ill.start) / (ms * 1e6) as u64).is_multiple_of(2) => {
                    return Fate::Lost;
                }
                Fault::Errors { share } if self.rng.uniform() < share => return Fate::Failed,
                Fault::Timeouts { share } if self.rng.uniform() < share => return Fate::Lost,
                Fault::RateLimit { share, .. } => {
                    if self.paid_until.saturating_sub(now) > BURST {
                        return Fate::Limited;
                    }
                    self.paid_until = self.paid_until.max(now) + (self.service as f64 / share) as u64;
                }
                _ => {}
            }
        }
        if self.free_at.saturating_sub(now) > self.queue {
            return Fate::TurnedAway;
        }
        let begins = self.free_at.max(now);
        self.free_at = begins + self.service_at(begins);
        if self.fault.is_down() && begins < self.ill.end && self.free_at > self.ill.start {
            return Fate::Lost;
        }
        Fate::Answered(self.free_at)
    }

    /// How long it works on a request that it begins then.
    fn service_at(&mut self, begins: u64) -> u64 {
        match self.fault {
            Fault::Slow if self.ill.contains(&begins) => 2 * self.service,
            Fault::ColdCache { factor, requests } if begins >= self.ill.end && self.cached < requests => {
                let missing = 1.0 - self.cached as f64 / requests as f64;
                self.cached += 1;
                (self.service as f64 * (1.0 + (factor - 1.0) * missing)) as u64
            }
            _ => self.service,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> Server {
        Server::new(10, 30, Fault::Down, 1000..2000, 0)
    }

    #[test]
    fn requests_wait_for_the_one_before() {
        let mut server = server();
        assert_eq!(server.offer(100), Fate::Answered(110));
        assert_eq!(server.offer(100), Fate::Answered(120));
        assert_eq!(server.offer(115), Fate::Answered(130));
        assert_eq!(server.offer(500), Fate::Answered(510));
    }

    #[test]
    fn a_full_queue_turns_away() {
        let mut server = server();
        for n in 1..=4 {
            assert_eq!(server.offer(0), Fate::Answered(10 * n));
        }
        assert_eq!(server.offer(0), Fate::TurnedAway);
        assert_eq!(server.offer(10), Fate::Answered(50));
    }

    #[test]
    fn what_a_crash_finds_in_the_queue_is_lost() {
        let mut server = server();
        assert_eq!(server.offer(985), Fate::Answered(995));
        assert_eq!(server.offer(985), Fate::Lost);
        assert_eq!(server.offer(1500), Fate::Lost);
        assert_eq!(server.offer(2000), Fate::Answered(2010));
    }

    #[test]
    fn a_slow_server_takes_twice_as_long_and_loses_nothing() {
        let mut server = Server::new(10, 30, Fault::Slow, 1000..2000, 0);
        assert_eq!(server.offer(980), Fate::Answered(990));
        assert_eq!(server.offer(1500), Fate::Answered(1520));
        assert_eq!(server.offer(1990), Fate::Answered(2010));
        assert_eq!(server.offer(1990), Fate::Answered(2020));
    }
    #[test]
    fn a_server_may_refuse_at_once_or_flap() {
        let mut server = Server::new(10, 30, Fault::RefusedThenFull, 1000..2000, 0);
        assert_eq!(server.offer(1500), Fate::Failed);
        assert_eq!(server.offer(2000), Fate::Answered(2040));
        assert_eq!(Server::new(10, 30, Fault::Refused, 1000..2000, 0).offer(1500), Fate::Failed);
        let mut server = Server::new(10, 30, Fault::Flapping { ms: 1.0 }, 1_000_000..9_000_000, 0);
        let fates: Vec<Fate> = (1..5).map(|ms| server.offer(ms * 1_000_000)).collect();
        let up = |ms: u64| Fate::Answered(ms * 1_000_000 + 10);
        assert_eq!(fates, [Fate::Lost, up(2), Fate::Lost, up(4)]);
    }

    #[test]
    fn a_server_comes_back_with_a_full_queue() {
        let mut server = Server::new(10, 30, Fault::DownThenFull, 1000..2000, 0);
        assert_eq!(server.offer(1500), Fate::Lost);
        assert_eq!(server.offer(2000), Fate::Answered(2040));
        assert_eq!(server.offer(2000), Fate::TurnedAway);
    }

    #[test]
    fn a_limited_rate_lets_a_share_of_the_capacity_through() {
        let limit = Fault::RateLimit { share: 0.5, retry_after: 2.0 };
        let mut server = Server::new(SECOND / 100, 30 * SECOND, limit, 0..100 * SECOND, 0);
        // Two requests for each that the server could answer, so four for each that it may.
        let taken = (0..20_000).filter(|n| server.offer(n * SECOND / 200) != Fate::Limited).count();
        assert!((5000..5100).contains(&taken), "{taken} of 20,000");
        assert_ne!(server.offer(100 * SECOND), Fate::Limited);
    }

    #[test]
    fn a_cold_cache_gets_warm() {
        let mut server = Server::new(10, 1000, Fault::ColdCache { factor: 5.0, requests: 4 }, 1000..2000, 0);
        assert_eq!(server.offer(0), Fate::Answered(10));
        assert_eq!(server.offer(1000), Fate::Lost);
        let answers: Vec<Fate> = (0..6).map(|_| server.offer(2000)).collect();
        assert_eq!(answers, [2050, 2090, 2120, 2140, 2150, 2160].map(Fate::Answered));
    }

    #[test]
    fn a_share_of_the_requests_fails() {
        for (fault, fate) in
            [(Fault::Errors { share: 0.2 }, Fate::Failed), (Fault::Timeouts { share: 0.2 }, Fate::Lost)]
        {
            let mut server = Server::new(0, 30, fault, 1000..2000, 7);
            let failed = (0..1000).filter(|n| server.offer(1000 + n) == fate).count();
            assert!((170..230).contains(&failed), "{failed} of a thousand");
            assert_eq!(server.offer(2000), Fate::Answered(2000));
        }
    }
}
