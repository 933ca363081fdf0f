//! A blocking operation that answers at the third attempt: `cargo run -p holdoff --example blocking`.

use holdoff::core::{Backoff, Hint, Span};
use holdoff::{Failure, Policy};
use std::time::Duration;

/// An error as clients have them.
#[derive(Debug)]
struct Refused {
    status: u32,
    retry_after: Option<&'static str>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let policy = Policy::options()
        .backoff(Backoff::exponential(Duration::from_millis(5), 2.0).max(Duration::from_millis(50)))
        .attempts(5)
        .deadline(Duration::from_secs(2))
        .build()?;
    let mut answers = [
        Err(Refused { status: 503, retry_after: None }),
        Err(Refused { status: 429, retry_after: Some("0") }),
        Ok("a page"),
    ]
    .into_iter();
    let page = holdoff::retry_with(&policy, |attempt| {
        println!("attempt {}, {:.1?} left", attempt.number(), attempt.time_left().unwrap_or_default());
        answers.next().unwrap_or(Err(Refused { status: 404, retry_after: None }))
    })
    .classify(|refused| {
        let retry_after = refused.retry_after.map(str::as_bytes);
        Failure::from_http(refused.status, retry_after).unwrap_or(Failure::PERMANENT)
    })
    .on_retry(|retried| println!("  {:?}: next in {:.1?}", retried.failure.kind, retried.delay))
    .call();
    assert_eq!(page.map_err(|stopped| stopped.reason()), Ok("a page"));

    // A failure made by hand: the server asked for two minutes.
    let throttled = Failure::THROTTLED.with_hint(Hint::after(Span::from_secs(120)));
    let stopped = holdoff::retry(&policy, || Err::<(), _>("come back in two minutes"))
        .classify(|_| throttled)
        .call()
        .expect_err("two minutes are more than the policy waits");
    println!("{stopped}; another try may succeed in {:.0?}", stopped.retry_in().unwrap_or_default());
    Ok(())
}
