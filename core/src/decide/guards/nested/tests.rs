use super::*;
use crate::decide::hint::Hint;
use crate::decide::rng::Rng;
use crate::error::ErrorCode;
use crate::fields::Field;
use crate::time::Span;
use proptest::prelude::*;
use std::string::ToString;
use std::vec::Vec;

fn inside(attempts: &[u32]) -> Option<Token> {
    attempts.iter().fold(None, |token, attempts| Some(Token::child(token, 1, *attempts)))
}

#[test]
fn a_token_counts_the_retries_around_and_their_product() {
    let token = Token::child(inside(&[3]), 2, 4);
    assert_eq!((token.attempt(), token.allowed(), token.depth()), (2, 12, 2));
    assert_eq!(inside(&[u32::MAX, 2]).map(|token| token.allowed()), Some(u32::MAX));
}

#[test]
fn each_mode_makes_of_it_what_it_says() {
    let around = inside(&[3]);
    let all = [Nesting::Allow, Nesting::Innermost, Nesting::Outermost, Nesting::Cap(8)];
    assert_eq!(all.map(|nesting| nesting.attempts(None, 5)), [5, 5, 5, 5]);
    assert_eq!(all.map(|nesting| nesting.attempts(around, 5)), [5, 5, 1, 2]);
    assert_eq!(all.map(|nesting| nesting.attempts(inside(&[3, 3]), 5)), [5, 5, 1, 1]);
}

#[test]
fn a_cap_bounds_an_outermost_retry_too_and_one_that_never_ends() {
    assert_eq!(Nesting::Cap(4).attempts(None, 10), 4);
    assert_eq!(Nesting::Cap(4).attempts(None, u32::MAX), 4);
    assert_eq!(Nesting::Cap(4).attempts(inside(&[u32::MAX]), 10), 1);
    assert_eq!(Nesting::Allow.attempts(None, u32::MAX), u32::MAX);
}

#[test]
fn what_an_inner_retry_gave_up_on_is_permanent_under_innermost_only() {
    let failure = Failure::THROTTLED.with_hint(Hint::after(Span::from_secs(1)));
    assert_eq!(Nesting::Innermost.after_inner(failure).kind, FailureKind::Permanent);
    for nesting in [Nesting::Allow, Nesting::Outermost, Nesting::Cap(2)] {
        assert_eq!(nesting.after_inner(failure), failure);
    }
}

#[test]
fn a_cap_of_none_is_refused_and_works_as_one() {
    let error = crate::Options::NEW.with_field(Field::NestedCap, 0).unwrap_err();
    assert_eq!((error.code, error.field), (ErrorCode::CountRange, Some(Field::NestedCap)));
    assert_eq!(Nesting::Cap(0).attempts(None, 3), 1);
}

#[test]
fn headers_say_the_number_of_the_attempt() {
    let token = |attempt| Token::child(None, attempt, 5);
    assert_eq!((token(1).attempt(), token(1).grpc()), (1, None));
    assert_eq!((token(10).attempt(), token(10).grpc()), (10, Some(9)));
    assert_eq!(token(u32::MAX).grpc(), Some(u32::MAX - 1));
}

#[test]
fn a_token_from_a_header_allows_what_the_caller_has_made() {
    let token = Token::from_header(b" 3 ").unwrap();
    assert_eq!((token.attempt(), token.allowed(), token.depth()), (3, 3, 1));
    assert_eq!(Token::from_grpc(b"2"), Some(token));
    assert_eq!(Token::from_grpc(b"0"), Token::from_header(b"1"));
}

#[test]
fn text_that_is_no_number_of_an_attempt_is_none() {
    for bad in ["", " ", "0", "-1", "+1", "1.0", "1 2", "0x1", "4294967296", "99999999999999999999", "one", "1,2"] {
        assert_eq!(Token::from_header(bad.as_bytes()), None, "{bad}");
    }
    for bad in ["", "-1", "4294967295", "many"] {
        assert_eq!(Token::from_grpc(bad.as_bytes()), None, "{bad}");
    }
    assert_eq!(Token::from_header(&[0xff]), None);
}

#[test]
fn a_policy_can_have_other_attempts() {
    let policy = Policy::default();
    assert_eq!(policy.with_attempts(1).attempts(), Some(1));
    assert_eq!(policy.with_attempts(0).attempts(), Some(1));
    assert_eq!(policy.with_attempts(u32::MAX).attempts(), None);
    let built = Policy::options().attempts(7).build().unwrap();
    assert_eq!(policy.with_attempts(7), built);
}

#[test]
fn the_token_is_its_bytes() {
    assert_eq!(size_of::<Token>(), 12);
}

/// The attempts of the innermost of some retries, from the whole list of those around it.
fn model(nesting: Nesting, around: &[u32], own: u32) -> u32 {
    let product: u128 = around.iter().map(|attempts| u128::from(*attempts)).product();
    match nesting {
        Nesting::Outermost if !around.is_empty() => 1,
        Nesting::Cap(cap) => own.min(u32::try_from(u128::from(cap) / product).unwrap()).max(1),
        _ => own,
    }
}

#[test]
fn a_hundred_thousand_random_nestings_are_as_the_model_says() {
    for seed in 0..100_000 {
        let mut rng = Rng::new(seed);
        let mut number = || 1 + (rng.next_u32() >> 1 >> (rng.next_u32() % 31));
        let nesting =
            [Nesting::Allow, Nesting::Innermost, Nesting::Outermost, Nesting::Cap(number())][(number() % 4) as usize];
        let mut around = Vec::new();
        for _ in 0..number() % 4 {
            around.push(number());
            let own = number();
            let expected = model(nesting, &around, own);
            assert_eq!(nesting.attempts(inside(&around), own), expected, "seed {seed}: {nesting:?} {around:?} {own}");
        }
    }
}

proptest! {
    #[test]
    fn no_numbers_panic(words: [u32; 3], cap: u32, own: u32) {
        let [attempt, allowed, depth] = words;
        let token = Token { attempt, allowed, depth };
        for nesting in [Nesting::Allow, Nesting::Innermost, Nesting::Outermost, Nesting::Cap(cap)] {
            prop_assert!(nesting.attempts(Some(token), own) >= 1);
        }
        let _ = Token::child(Some(token), own, cap).grpc();
    }

    #[test]
    fn under_a_cap_all_together_make_no_more(cap in 1u32..100, layers in prop::collection::vec(1u32..20, 1..5)) {
        let mut token = None;
        for own in layers {
            let attempts = Nesting::Cap(cap).attempts(token, own);
            token = Some(Token::child(token, 1, attempts));
        }
        prop_assert!(token.unwrap().allowed() <= cap);
    }

    #[test]
    fn what_is_written_is_read(attempt in 1u32..) {
        let token = Token::of_attempt(attempt);
        prop_assert_eq!(Token::from_header(token.attempt().to_string().as_bytes()), Some(token));
        if let Some(before) = token.grpc() {
            prop_assert_eq!(Token::from_grpc(before.to_string().as_bytes()), Some(token));
        }
    }

    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        let _ = (Token::from_header(&bytes), Token::from_grpc(&bytes));
    }
}
