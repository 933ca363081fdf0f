//! A server of fixed capacity that does not know whether anybody still waits for its answer.
//!
//! It takes requests in the order they come, one after the other. Work on a request whose client has given up is not
//! recognised as such, and this is what lets an overload outlive its cause: when the wait in the queue is longer than the
//! clients' patience, a busy server answers nobody (Bronson and others, "Metastable failures in distributed systems", 2021).

use holdoff_core::Rng;
use std::ops::Range;

/// A fault of the server for a while.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fault {
    /// It is down: what it has not answered by then is lost, and so is what comes before it is up again.
    Down,
    /// The same, and it comes back with a full queue of requests whose clients have given up.
    DownThenFull,
    /// It works at half its speed.
    Slow,
    /// That share of the requests fails at once, each by itself.
    Errors(f64),
    /// That share of the requests gets no answer, each by itself.
    Losses(f64),
}

/// The fate of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Answered at that time.
    Answered(u64),
    /// Turned away at once: the queue is full.
    TurnedAway,
    /// Failed at once.
    Failed,
    /// Never answered.
    Lost,
}

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
    /// Draws the requests that fail.
    rng: Rng,
}

impl Server {
    /// A server that needs `service` for a request, turns requests away that would wait longer than `queue`, and is `ill` for
    /// a time. The requests that fail are drawn from `seed`.
    #[must_use]
    pub fn new(service: u64, queue: u64, fault: Fault, ill: Range<u64>, seed: u64) -> Self {
        Self { service, queue, fault, ill, free_at: 0, rng: Rng::new(seed) }
    }

    /// A request comes in at `now`, which is never before the latest one.
    pub fn offer(&mut self, now: u64) -> Fate {
        if self.ill.contains(&now) {
            match self.fault {
                Fault::Down => {
                    self.free_at = self.ill.end;
                    return Fate::Lost;
                }
                Fault::DownThenFull => {
                    self.free_at = self.ill.end + self.queue;
                    return Fate::Lost;
                }
                Fault::Errors(share) if self.rng.uniform() < share => return Fate::Failed,
                Fault::Losses(share) if self.rng.uniform() < share => return Fate::Lost,
                _ => {}
            }
        }
        if self.free_at.saturating_sub(now) > self.queue {
            return Fate::TurnedAway;
        }
        let begins = self.free_at.max(now);
        let slow = self.fault == Fault::Slow && self.ill.contains(&begins);
        self.free_at = begins + if slow { 2 * self.service } else { self.service };
        let is_down = matches!(self.fault, Fault::Down | Fault::DownThenFull);
        if is_down && begins < self.ill.end && self.free_at > self.ill.start {
            return Fate::Lost;
        }
        Fate::Answered(self.free_at)
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
    fn a_server_comes_back_with_a_full_queue() {
        let mut server = Server::new(10, 30, Fault::DownThenFull, 1000..2000, 0);
        assert_eq!(server.offer(1500), Fate::Lost);
        assert_eq!(server.offer(2000), Fate::Answered(2040));
        assert_eq!(server.offer(2000), Fate::TurnedAway);
    }

    #[test]
    fn a_share_of_the_requests_fails() {
        for (fault, fate) in [(Fault::Errors(0.2), Fate::Failed), (Fault::Losses(0.2), Fate::Lost)] {
            let mut server = Server::new(0, 30, fault, 1000..2000, 7);
            let failed = (0..1000).filter(|n| server.offer(1000 + n) == fate).count();
            assert!((170..230).contains(&failed), "{failed} of a thousand");
            assert_eq!(server.offer(2000), Fate::Answered(2000));
        }
    }
}
