//! The calls that wait at a guard, first come, first served.
//!
//! A guard cannot wake a call, and no call sees another one. So each call takes a ticket and reckons from the tickets how many calls
//! wait before it, hence when its turn will be, and sleeps until then. When a call passes or leaves, the next one has its turn at
//! once: the host wakes it. The line has no memory of each call. It counts the calls that left from its middle, and
//! finds them when it comes to their tickets.

use crate::time::Timestamp;

/// A call that asks a guard.
#[derive(Clone, Copy)]
pub(crate) struct Waiter {
    /// Its ticket; a newcomer has none.
    pub(crate) ticket: Option<u32>,
    /// At its turn the time before, a call before it had not come.
    pub(crate) overdue: bool,
}

/// The tickets of the calls that wait: 16 bytes, `Copy`, plain numbers. Zeroes are an empty line; every bit pattern is valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub(crate) struct Line {
    /// The next ticket.
    next: u32,
    /// The first ticket that may still be held.
    first: u32,
    waiting: u32,
    marks: u32,
}

/// The call with the first ticket has asked since the one before it went.
const THERE: u32 = 1;
/// The first call has to be woken: the one before it went.
const WAKE: u32 = 2;

impl Line {
    /// At least so many calls wait before the one with that ticket, or before a newcomer: exactly so many if none has left.
    pub(crate) const fn before(&self, ticket: Option<u32>) -> u32 {
        let Some(ticket) = ticket else {
            return if self.waiting < self.tickets() { self.waiting } else { self.tickets() };
        };
        let offset = ticket.wrapping_sub(self.first);
        if offset >= self.tickets() {
            // Later calls were let through before it, or the guard has begun anew meanwhile.
            return 0;
        }
        let least = offset.saturating_sub(self.tickets().saturating_sub(self.waiting));
        if least == 0 && offset > 0 && self.marks & THERE != 0 { 1 } else { least }
    }

    /// Asks for one call: a newcomer passes if it and all that wait would pass together, a call that waits when it is the first and
    /// would pass. `opens` says when the last of that many calls would pass, one after the other, if not now.
    ///
    /// # Errors
    /// The time of its turn; `now` if that has come and a call before it, which could pass, has not: the next time it is left out.
    pub(crate) fn admit(
        &mut self,
        waiter: Waiter,
        now: Timestamp,
        opens: &dyn Fn(u32) -> Option<Timestamp>,
    ) -> Result<(), Timestamp> {
        let before = self.before(waiter.ticket);
        let turn = |before: u32| opens(before.saturating_add(1)).map_or(Ok(()), Err);
        let Some(ticket) = waiter.ticket else { return turn(before) };
        self.marks &= !WAKE;
        let first_is_late = before > 0 && turn(0).is_ok();
        if first_is_late && !waiter.overdue {
            return Err(now);
        }
        if before == 0 || first_is_late {
            self.begin_at(ticket);
            return turn(0);
        }
        turn(before)
    }

    /// True if no call waits before the one with this ticket, which has been woken.
    pub(crate) const fn is_first(&mut self, ticket: u32) -> bool {
        self.marks &= !WAKE;
        self.before(Some(ticket)) == 0
    }

    /// The ticket of a call that waits from now on; its own if it has one.
    pub(crate) const fn add_waiter(&mut self, ticket: Option<u32>) -> u32 {
        if let Some(ticket) = ticket {
            return ticket;
        }
        let ticket = self.next;
        self.next = ticket.wrapping_add(1);
        self.waiting = self.waiting.saturating_add(1);
        if self.waiting == 1 {
            self.begin_at(ticket);
        }
        ticket
    }

    /// Its first call is the one with this ticket.
    const fn begin_at(&mut self, ticket: u32) {
        if ticket.wrapping_sub(self.first) < self.tickets() {
            self.first = ticket;
            self.marks |= THERE;
        }
    }

    /// The call with this ticket has passed, or waits no longer.
    pub(crate) const fn leave(&mut self, ticket: Option<u32>) {
        let Some(ticket) = ticket else { return };
        self.waiting = self.waiting.saturating_sub(1);
        if ticket == self.first {
            (self.first, self.marks) = (ticket.wrapping_add(1), WAKE);
        } else if self.marks & THERE == 0 {
            self.marks = WAKE;
        }
        if self.waiting == 0 || self.tickets() == 0 {
            *self = Self { next: self.next, first: self.next, waiting: 0, marks: 0 };
        }
    }

    /// How many calls are to be woken, from the first one on.
    pub(crate) const fn wakes(self) -> u32 {
        if self.marks & WAKE != 0 { 1 } else { 0 }
    }

    /// How many calls wait.
    pub(crate) const fn waiting(&self) -> u32 {
        self.waiting
    }

    /// How many tickets have been given from the first one on.
    const fn tickets(&self) -> u32 {
        self.next.wrapping_sub(self.first)
    }
}
