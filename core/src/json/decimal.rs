//! The nearest double to decimal digits, by division of whole numbers.
//!
//! Faster ways need tables of powers, ten kilobytes of each library. A document has a dozen numbers.

use alloc::vec::Vec;
use core::cmp::Ordering;

/// The digits that decide: one more than the longest middle between two doubles has.
const DIGITS: usize = 770;
/// The bits of a double's digits, and the lowest exponent of its first bit that has all of them.
const BITS: i32 = 53;
const LOWEST: i32 = -1022;

/// The double nearest to `whole.fraction` times ten to the power of `exponent`, to the even one in the middle; `None` beyond
/// the largest.
pub(super) fn nearest_double(whole: &str, fraction: &str, exponent: i32) -> Option<f64> {
    let (mut above, mut below, mut used, mut tens) = (Natural(Vec::new()), Natural(Vec::new()), 0_usize, exponent);
    below.times_plus(0, 1);
    let digits = whole.bytes().map(|digit| (digit, 1_i32)).chain(fraction.bytes().map(|digit| (digit, 0)));
    let mut rest = 0;
    for (digit, is_whole) in digits {
        let digit = u32::from(digit & 0x0f);
        if used < DIGITS {
            above.times_plus(10, digit);
            used = used.saturating_add(usize::from(!above.0.is_empty()));
            tens = tens.saturating_sub(1).saturating_add(is_whole);
        } else {
            // Digits beyond these only break a tie: if any is not 0, the number is above it.
            rest |= digit;
            tens = tens.saturating_add(is_whole);
        }
    }
    if rest != 0 {
        above.times_plus(10, 1);
        (used, tens) = (used.saturating_add(1), tens.saturating_sub(1));
    }
    let size = tens.saturating_add(used as i32);
    if above.0.is_empty() || size < -330 {
        return Some(0.0);
    }
    if size > 310 {
        return None;
    }
    let scaled = if tens < 0 { &mut below } else { &mut above };
    (0..tens.unsigned_abs()).for_each(|_| scaled.times_plus(10, 0));
    divided(above, below)
}

/// The double nearest to a fraction above 0.
fn divided(mut above: Natural, mut below: Natural) -> Option<f64> {
    let mut exponent = 0_i32;
    while above.compare(&below) == Ordering::Less {
        above.times_plus(2, 0);
        exponent = exponent.saturating_sub(1);
    }
    // From here on the fraction is below 2, and twice its rest again in each round.
    loop {
        let mut double = Natural(below.0.clone());
        double.times_plus(2, 0);
        if above.compare(&double) == Ordering::Less {
            break;
        }
        below = double;
        exponent = exponent.saturating_add(1);
    }
    let bits = BITS.saturating_add(exponent.saturating_sub(LOWEST).min(0));
    let mut number = 0_u64;
    for _ in 0..bits {
        number = number.wrapping_mul(2);
        if above.compare(&below) != Ordering::Less {
            above.subtract(&below);
            number |= 1;
        }
        above.times_plus(2, 0);
    }
    let is_up = match above.compare(&below) {
        Ordering::Less => false,
        Ordering::Equal => number & 1 == 1,
        Ordering::Greater => bits >= 0,
    };
    let unit = exponent.saturating_add(1).saturating_sub(bits.max(0));
    let power = match unit {
        ..LOWEST => 1_u64.wrapping_shl(unit.max(-1074).wrapping_add(1074) as u32),
        LOWEST..=1023 => (unit.wrapping_add(1023) as u64).wrapping_shl(52),
        _ => return None,
    };
    let double = number.wrapping_add(is_up.into()) as f64 * f64::from_bits(power);
    double.is_finite().then_some(double)
}

/// A natural number, its lowest 32 bits first, without zeros at the end.
struct Natural(Vec<u32>);

impl Natural {
    /// Multiplies by a factor and adds.
    fn times_plus(&mut self, factor: u32, add: u32) {
        let mut carry = u64::from(add);
        for part in &mut self.0 {
            carry = u64::from(*part).wrapping_mul(factor.into()).wrapping_add(carry);
            *part = carry as u32;
            carry = carry.wrapping_shr(32);
        }
        if carry != 0 {
            self.0.push(carry as u32);
        }
    }

    fn compare(&self, other: &Self) -> Ordering {
        let length = self.0.len().cmp(&other.0.len());
        length.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }

    /// Subtracts a number that is not larger.
    fn subtract(&mut self, other: &Self) {
        let mut borrow = 0_u64;
        for (part, less) in self.0.iter_mut().zip(other.0.iter().copied().chain(core::iter::repeat(0))) {
            let difference = u64::from(*part).wrapping_sub(less.into()).wrapping_sub(borrow);
            *part = difference as u32;
            borrow = difference.wrapping_shr(63);
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::format;

    fn same(whole: &str, fraction: &str, exponent: i32) {
        let text = format!("{whole}.{fraction}e{exponent}");
        let known: f64 = text.parse().unwrap();
        let found = nearest_double(whole, fraction, exponent);
        assert_eq!(found.map(f64::to_bits), known.is_finite().then_some(known.to_bits()), "{text}");
    }

    #[test]
    fn the_middle_goes_to_the_even_double_and_the_least_digit_decides() {
        for (whole, fraction, exponent) in [
            ("0", "0", 0),
            ("1", "", 0),
            ("9007199254740993", "", 0),
            ("9007199254740993", "00000000000000000000000000000000000000001", 0),
            ("9007199254740991", "5", 0),
            ("17976931348623157", "", 292),
            ("17976931348623158", "", 292),
            ("179769313486231580793", "", 288),
            (
                "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704342711559699508093042880",
                "",
                0,
            ),
            ("2", "2250738585072014", -308),
            ("2", "2250738585072011", -308),
            ("4", "9406564584124654", -324),
            ("2", "4703282292062327", -324),
            ("2", "4703282292062328", -324),
            ("1", "", -400),
            ("1", "", 400),
            ("0", "", i32::MAX),
            ("1", "", i32::MIN),
        ] {
            same(whole, fraction, exponent);
        }
        // The middle between 0 and the smallest, exactly, and a digit above it.
        let middle = format!("{:.1075}", f64::from_bits(1) / 2.0);
        assert!(middle.starts_with("0.0"));
        let half = format!("{:.1074}", f64::from_bits(1));
        same("0", half.split_at(2).1, 0);
        let long = format!("{}1", "9".repeat(800));
        same("1", &long, -20);
        same("0", &format!("{}1", "0".repeat(900)), 901);
    }

    proptest! {
        #[test]
        fn any_digits_give_the_double_that_rust_reads(
            whole in "0|[1-9][0-9]{0,25}", fraction in "[0-9]{0,30}", exponent in -350..320_i32,
        ) {
            same(&whole, &fraction, exponent);
        }

        #[test]
        fn any_double_is_read_back(number: f64) {
            prop_assume!(number.is_finite());
            let text = format!("{:e}", number.abs());
            let (digits, exponent) = text.split_once('e').unwrap();
            let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
            let found = nearest_double(whole, fraction, exponent.parse().unwrap());
            prop_assert_eq!(found.map(f64::to_bits), Some(number.abs().to_bits()));
        }

        #[test]
        fn the_middle_of_two_doubles_is_exact(bits in 0_u64..0x7fe0_0000_0000_0000) {
            // One more bit than a double has: the sum of both halves, written out.
            let (low, high) = (f64::from_bits(bits), f64::from_bits(bits + 1));
            let text = format!("{:.1080}", low);
            let (whole, fraction) = text.split_once('.').unwrap();
            same(whole, fraction, 0);
            let text = format!("{:.1080}", high);
            let (whole, fraction) = text.split_once('.').unwrap();
            same(whole, &format!("{fraction}1"), 0);
        }
    }
}
