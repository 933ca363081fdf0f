//! An async operation with a limit on each attempt, and a token that cancels:
//! `cargo run -p holdoff --features tokio --example awaiting`.

use holdoff::core::StopReason;
use holdoff::{CancelToken, Policy};
use std::time::Duration;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let policy = Policy::options().attempt_timeout(Duration::from_millis(20)).build()?;
    let mut attempts = 0;
    let answer = holdoff::retry(&policy, || {
        attempts += 1;
        let slow = attempts == 1;
        async move {
            if slow {
                // Dropped at its limit.
                tokio::time::sleep(Duration::from_secs(3600)).await;
            }
            Ok::<_, std::io::Error>("an answer")
        }
    })
    .await?;
    println!("{answer} at attempt {attempts}");

    let token = CancelToken::new();
    let cancelled =
        holdoff::retry(&policy, async || Err::<(), _>("not yet")).on_retry(|_| token.cancel()).cancel(&token);
    let stopped = cancelled.await.expect_err("it is cancelled during its first sleep");
    assert_eq!(stopped.reason(), StopReason::Cancelled);
    println!("{stopped}");
    Ok(())
}
