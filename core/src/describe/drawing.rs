//! An explanation as a picture: when each retry begins, as SVG that stands alone or inside a page.
//!
//! The picture holds no text but the core's own words and numbers, no script and no link, and its colours can be read on a light
//! and on a dark ground.

use crate::describe::explain::{Explanation, InTime, Row};
use crate::time::Span;
use core::fmt;

/// The most retries that are drawn unless the explanation has a number of its own.
const MOST: u32 = 20;
/// Lengths in pixels: the whole width, the sides of the field of bars, its top, and the height of a row.
const WIDTH: u32 = 720;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 480.0;
const TOP: u32 = 34;
const ROW: u32 = 24;
const GREY: &str = "#767676";
/// The most marks of the time line behind its beginning.
const MARKS: u64 = 6;
/// The steps between the marks of the time line in nanoseconds: 1, 2 and 5 below ten seconds, then those of clocks.
const CLOCK: [u64; 16] =
    [15, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 172_800, 604_800, 2_592_000, 31_536_000];

impl Explanation {
    /// The retries of the first table as SVG, by `Display`: for each retry a bar from the earliest to the latest moment at which it
    /// begins if attempts take no time, a mark at the typical one, and the deadline. At most 20 retries unless [`Self::rows`] says
    /// how many.
    #[must_use]
    pub const fn drawing(self) -> Drawing {
        Drawing(self)
    }
}

/// An explanation as SVG, see [`Explanation::drawing`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Drawing(Explanation);

impl Drawing {
    fn rows(&self) -> impl Iterator<Item = Row> {
        let most = self.0.rows.unwrap_or(MOST);
        self.0.iter().take(usize::try_from(most).unwrap_or(usize::MAX))
    }
}

impl fmt::Display for Drawing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut count, mut longest) = (0_u32, Span::ZERO);
        for row in self.rows() {
            (count, longest) = (row.retry, longest.max(row.max_total));
        }
        let deadline = self.0.policy.deadline();
        // A deadline far behind the last retry would leave the bars no room.
        let near = deadline.filter(|deadline| deadline.as_nanos() / 3 <= longest.as_nanos());
        // Neither may bars far behind the deadline.
        let beyond = near.map_or(Span::MAX, |deadline| Span::from_nanos(deadline.as_nanos().saturating_mul(2)));
        let end = longest.min(beyond).max(near.unwrap_or_default()).max(Span::from_nanos(1)).as_nanos();
        let x = |at: Span| LEFT + (RIGHT - LEFT) * (at.as_nanos() as f64 / end as f64).min(1.0);
        let bottom = TOP.saturating_add(ROW.saturating_mul(count));
        let height = bottom.saturating_add(40);
        write!(
            f,
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" font-family="system-ui, sans-serif" font-size="12" fill="{GREY}"><title>{}</title>"##,
            self.0.policy
        )?;
        write!(f, r#"<text x="8" y="20">retry</text><text x="{}" y="20">delay, and all delays</text>"#, RIGHT + 16.0)?;
        let step = step(end);
        let marks = (0..=MARKS).map(|mark| step.saturating_mul(mark)).take_while(|mark| *mark <= end);
        for at in marks.map(Span::from_nanos) {
            write!(
                f,
                r#"<path d="M{0:.1} {TOP}V{bottom}" stroke="{GREY}" stroke-opacity=".3"/><text x="{0:.1}" y="{1}" text-anchor="middle">{at}</text>"#,
                x(at),
                bottom.saturating_add(18)
            )?;
        }
        for row in self.rows() {
            let y = TOP.saturating_add(ROW.saturating_mul(row.retry.saturating_sub(1)));
            let colour = if row.in_time == InTime::Never { GREY } else { "#3b82f6" };
            let [min, typical, max] = [row.min_total, row.typical_total, row.max_total].map(x);
            let text = y.saturating_add(16);
            write!(f, r#"<text x="8" y="{text}">{}</text>"#, row.retry)?;
            write!(
                f,
                r#"<rect x="{min:.1}" y="{}" width="{:.1}" height="12" rx="2" fill="{colour}" fill-opacity=".4"/>"#,
                y.saturating_add(6),
                (max - min).max(1.0)
            )?;
            write!(f, r#"<path d="M{typical:.1} {}v16" stroke="{colour}" stroke-width="3"/>"#, y.saturating_add(4))?;
            let [min, typical, max, total] = [row.min, row.typical, row.max, row.typical_total].map(Span::rounded);
            write!(f, r#"<text x="{}" y="{text}">"#, RIGHT + 16.0)?;
            if min == max {
                write!(f, "{typical}")?
            } else {
                write!(f, "{typical} ({min} to {max})")?
            }
            write!(f, ", {total}</text>")?;
        }
        if let Some(deadline) = deadline {
            let (at, arrow) = if near.is_some() { (x(deadline), "") } else { (RIGHT, " →") };
            if near.is_some() {
                let stroke = r##"stroke="#dc2626" stroke-width="2" stroke-dasharray="5 3""##;
                write!(f, r#"<path d="M{at:.1} {}V{bottom}" {stroke}/>"#, TOP.saturating_sub(6))?;
            }
            let side = if at < WIDTH as f64 / 2.0 { "start" } else { "end" };
            let text = format_args!("deadline {deadline}{arrow}");
            write!(f, r##"<text x="{at:.1}" y="20" text-anchor="{side}" fill="#dc2626">{text}</text>"##)?;
        }
        f.write_str("</svg>")
    }
}

/// The shortest step with at most that many marks.
fn step(end: u64) -> u64 {
    let decades =
        (0..10_u32).flat_map(|power| [1, 2, 5].map(|digit| 10_u64.saturating_pow(power).saturating_mul(digit)));
    let clock = CLOCK.into_iter().map(|seconds| seconds.saturating_mul(1_000_000_000));
    decades.chain(clock).find(|step| end.checked_div(*step).is_some_and(|marks| marks <= MARKS)).unwrap_or(end)
}

#[cfg(test)]
mod tests {
    use crate::decide::backoff::Backoff;
    use crate::decide::policy::Policy;
    use crate::describe::preset::Preset;
    use core::time::Duration;
    use std::string::{String, ToString};

    fn drawn(policy: Policy) -> String {
        policy.explain().drawing().to_string()
    }

    #[test]
    fn each_retry_is_a_bar_between_its_ends() {
        let text = drawn(Policy::default());
        assert_eq!(text.matches("<rect").count(), 2);
        // 0s to 300ms of all 300 ms, typically 150.
        assert!(text.contains(r#"<rect x="64.0" y="64" width="416.0""#), "{text}");
        assert!(text.contains(r#"<path d="M272.0 62v16""#), "{text}");
        assert!(text.contains(">100ms (0s to 200ms), 150ms</text>"), "{text}");
    }

    #[test]
    fn a_deadline_stands_at_its_place_or_beyond_the_edge() {
        let mut three = *Policy::options().attempts(3);
        let mut deadline = |time| drawn(three.deadline(Duration::from_millis(time)).build().unwrap());
        // Half of the 300 ms that the sleeps take at most.
        assert!(deadline(150).contains(r#"<path d="M272.0 28V82""#), "{}", deadline(150));
        assert!(deadline(60_000).contains("deadline 1m →"));
    }

    #[test]
    fn every_policy_can_be_drawn() {
        let longest = Backoff::constant(Duration::from_secs(9_000_000_000));
        for policy in [Policy::options().backoff(longest).attempts(100).build().unwrap(), Preset::Temporal.policy()] {
            assert!(drawn(policy).ends_with("</svg>"));
        }
        let once = drawn(Policy::options().attempts(1).build().unwrap());
        assert!(!once.contains("<rect") && !once.contains("NaN"), "{once}");
    }
}
