//! ureq, with the retry around the call.

use super::{Ask, End, play};
use holdoff::SharedPolicy;
use holdoff::classify::{http_failure, request_failure};

fn blocking(ask: &Ask) -> End {
    let agent = ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().new_agent();
    let idempotent = ask.is_idempotent();
    let (mut attempts, mut reason) = (0, None);
    let answer = SharedPolicy::new(ask.policy())
        .retry_with(|attempt| {
            attempts += 1;
            let mut request = http::Request::builder().method(ask.method).uri(&ask.url);
            if ask.has("key") {
                request = request.header("Idempotency-Key", "1");
            }
            let request = request.body(if ask.has("body") { "paid" } else { "" })?;
            let request = agent.configure_request(request).timeout_global(attempt.time_left()).build();
            let mut answer = agent.run(request)?;
            let failure = http_failure(answer.status().as_u16(), answer.headers(), idempotent);
            Ok::<_, ureq::Error>((answer.status().as_u16(), answer.body_mut().read_to_string()?, failure))
        })
        .when_result(|(_, _, failure)| *failure)
        .classify(|error| request_failure(error, idempotent))
        .on_give_up(|end| reason = Some(end.reason))
        .call();
    match answer {
        Ok((status, body, _)) => End { status: Some(status), reason, attempts, body },
        Err(_) => End { status: None, reason: None, attempts, body: String::new() },
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_request_arrives_as_often_as_it_may() {
    play("ureq", true, &["cuts", "form", "stream", "unread"], async |ask| {
        tokio::task::block_in_place(|| blocking(&ask))
    })
    .await;
}
