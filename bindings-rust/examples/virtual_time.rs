//! An hour of retries in no time: `cargo run -p holdoff --example virtual_time`.

use holdoff::core::Backoff;
use holdoff::{Policy, testing::VirtualTime};
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let policy = Policy::options()
        .backoff(Backoff::exponential(Duration::from_secs(1), 2.0).max(Duration::from_secs(300)))
        .forever()
        .deadline(Duration::from_secs(3600))
        .build()?;
    let time = VirtualTime::new();
    let stopped = holdoff::retry(&policy, || Err::<(), _>("the server is down"))
        .seed(7)
        .sleeper(time.clone())
        .on_retry(|retried| println!("attempt {:>2} failed, next in {:.1?}", retried.attempt, retried.delay))
        .call()
        .expect_err("the operation never succeeds");
    println!("{stopped}, {:.0?} later", time.elapsed());
    Ok(())
}
