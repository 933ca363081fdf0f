//! The names of other systems for the fields of a policy, so that a finding has its place.

use holdoff_core::Form;

/// The paths of a system that say what `field` of a policy document says, the nearest first.
pub(crate) fn own_names(form: Form, field: &str) -> &'static [&'static str] {
    use Form as F;
    let field = field.split(['.', '[']).next().unwrap_or(field);
    match (form, field) {
        (F::Grpc, "attempts") => &["retryPolicy.maxAttempts", "hedgingPolicy.maxAttempts"],
        (F::Grpc, "deadline") => &["timeout"],
        (F::Grpc, "backoff" | "jitter") => &["retryPolicy.initialBackoff", "retryPolicy"],
        (F::Grpc, "rules") => &["retryPolicy.retryableStatusCodes", "hedgingPolicy.nonFatalStatusCodes"],
        (F::Grpc, "budget") => &["retryThrottling"],
        (F::Grpc, "hedge") => &["hedgingPolicy"],
        (F::Temporal, "attempts") => &["maximumAttempts"],
        (F::Temporal, "backoff" | "jitter") => &["initialInterval", "maximumInterval", "backoffCoefficient"],
        (F::StepFunctions, "attempts" | "backoff" | "jitter" | "rules") => &["Retry"],
        (F::StepFunctions, "attempt_timeout") => &["TimeoutSeconds"],
        (F::ServerlessWorkflow, "attempts") => &["limit.attempt.count", "limit"],
        (F::ServerlessWorkflow, "deadline") => &["limit.duration"],
        (F::ServerlessWorkflow, "attempt_timeout") => &["limit.attempt.duration"],
        (F::ServerlessWorkflow, "backoff") => &["backoff", "delay"],
        (F::ServerlessWorkflow, "jitter") => &["jitter", "delay"],
        (F::Dapr, "attempts" | "deadline") => &["maxRetries"],
        (F::Dapr, "backoff" | "jitter") => &["duration", "maxInterval", "policy"],
        (F::Dapr, "rules") => &["matching"],
        (F::GatewayApi, "attempts") => &["retry.attempts", "retry"],
        (F::GatewayApi, "backoff" | "jitter") => &["retry.backoff", "retry"],
        (F::GatewayApi, "deadline") => &["timeouts.request"],
        (F::GatewayApi, "attempt_timeout") => &["timeouts.backendRequest"],
        (F::GatewayApi, "rules") => &["retry.codes"],
        (F::GatewayApi, "budget") => &["retryConstraint"],
        (F::Istio, "attempts") => &["retries.attempts", "retries", "timeout"],
        (F::Istio, "backoff" | "jitter") => &["retries.backoff", "retries", "timeout"],
        (F::Istio, "deadline") => &["timeout"],
        (F::Istio, "attempt_timeout") => &["retries.perTryTimeout"],
        (F::Istio, "rules") => &["retries.retryOn", "retries"],
        (F::Istio, "budget") => &["trafficPolicy.retryBudget", "trafficPolicy.connectionPool.http.maxRetries"],
        (F::Resilience4j, "attempts") => &["maxAttempts", "max-attempts"],
        (F::Resilience4j, "backoff" | "jitter") => &["waitDuration", "wait-duration"],
        (F::Resilience4j, "rules") => &["retryExceptions", "retry-exceptions", "ignoreExceptions", "ignore-exceptions"],
        (F::Polly, "attempts") => &["Retry.MaxRetryAttempts", "MaxRetryAttempts", "Retry"],
        (F::Polly, "backoff") => &["Retry.Delay", "Retry.BackoffType", "Delay", "BackoffType", "Retry"],
        (F::Polly, "jitter") => &["Retry.UseJitter", "UseJitter", "Retry.Delay", "Delay", "Retry"],
        (F::Polly, "deadline") => &["TotalRequestTimeout.Timeout"],
        (F::Polly, "attempt_timeout") => &["AttemptTimeout.Timeout"],
        (F::Polly, "breaker") => &["CircuitBreaker"],
        _ => &[],
    }
}
