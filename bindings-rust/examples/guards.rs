//! Guards that calls share when a server fails: `cargo run -p holdoff --example guards`.
//!
//! Twenty calls to a server that is down, on virtual time: with retries alone, and under a budget and a breaker.

use holdoff::core::{BreakerConfig, BudgetConfig};
use holdoff::guard::KeyedGuards;
use holdoff::{Policy, SharedGuards, testing::VirtualTime};
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (budget, breaker) = (BudgetConfig::default(), BreakerConfig::default());
    let sets: [(&str, SharedGuards); 4] = [
        ("retries alone", SharedGuards::new()),
        ("a budget", SharedGuards::new().with(budget)),
        ("a breaker", SharedGuards::new().with(breaker)),
        ("both", SharedGuards::new().with(budget).with(breaker)),
    ];
    let policy = Policy::default();
    for (name, guards) in sets {
        let (time, mut attempts, mut refused) = (VirtualTime::new(), 0, 0);
        for call in 0..20 {
            let down = || {
                attempts += 1;
                Err::<(), _>("connection refused")
            };
            let answer = holdoff::retry(&policy, down).seed(call).sleeper(time.clone()).guards(&guards).call();
            refused += u32::from(answer.is_err_and(|stopped| stopped.attempts() == 0));
            time.advance(Duration::from_secs(1));
        }
        println!("{name:>13}: 20 calls, {attempts:>2} attempts, {refused:>2} refused before the first");
    }

    // One breaker a host, so that a host that is down does not stop calls to the others.
    let hosts = KeyedGuards::new(10_000, Duration::from_secs(600), move || SharedGuards::new().with(breaker));
    for host in ["down.example", "down.example", "up.example"] {
        let get = || if host.starts_with("up") { Ok("page") } else { Err("connection refused") };
        let answer = holdoff::retry(&policy, get).sleeper(VirtualTime::new()).guards(&hosts.of(host)).call();
        match answer {
            Ok(page) => println!("{host}: {page}"),
            Err(stopped) => println!("{host}: {stopped}"),
        }
    }
    Ok(())
}
