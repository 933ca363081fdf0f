//! The names of other systems for the fields of a policy, so that a finding has its place.

use crate::system::System;
use holdoff_core::Form;

/// The paths of a system that say what `field` of a policy document says, the nearest first.
pub(crate) fn own_names(system: System, field: &str) -> &'static [&'static str] {
    let field = field.split(['.', '[']).next().unwrap_or(field);
    match system {
        System::Core(form) => names_of_core(form, field),
        System::Envoy => match field {
            "attempts" => &["retry_policy.num_retries", "retry_policy"],
            "backoff" | "jitter" => &["retry_policy.retry_back_off", "retry_policy"],
            "deadline" => &["timeout", "retry_policy"],
            "attempt_timeout" => &["retry_policy.per_try_timeout"],
            "rules" => &["retry_policy.retry_on", "retry_policy"],
            "hint" => &["retry_policy.rate_limited_retry_back_off"],
            "budget" => &["circuit_breakers"],
            _ => &[],
        },
        System::KubernetesJob => match field {
            "attempts" => &["backoffLimitPerIndex", "backoffLimit"],
            "deadline" => &["activeDeadlineSeconds"],
            "attempt_timeout" => &["template.spec.activeDeadlineSeconds"],
            _ => &["backoffLimit"],
        },
        System::ArgoWorkflows => match field {
            "attempts" => &["retryStrategy.limit", "retryStrategy"],
            "backoff" | "jitter" => &["retryStrategy.backoff", "retryStrategy"],
            "deadline" => &["retryStrategy.backoff.maxDuration"],
            "attempt_timeout" => &["activeDeadlineSeconds"],
            "rules" => &["retryStrategy.retryPolicy", "retryStrategy"],
            _ => &[],
        },
        System::Lambda => match field {
            "attempts" | "backoff" | "jitter" => {
                &["MaximumRetryAttempts", "maximumRetryAttempts", "maximum_retry_attempts"]
            }
            "deadline" => &["MaximumEventAgeInSeconds", "maximumEventAge", "maximum_event_age_in_seconds"],
            _ => &[],
        },
        System::Sqs => match field {
            "attempts" => &["redrive.maxReceiveCount", "redrive"],
            "backoff" | "jitter" => &["visibility", "redrive"],
            "deadline" => &["retention", "redrive"],
            _ => &[],
        },
        System::Haproxy => match field {
            "attempts" => &["retries", "retry-on", "option redispatch"],
            "backoff" | "jitter" => &["timeout connect", "retries", "retry-on", "option redispatch"],
            "rules" => &["retry-on", "retries"],
            _ => &[],
        },
        System::Nginx => match field {
            "attempts" => &["proxy_next_upstream_tries", "proxy_next_upstream"],
            "deadline" => &["proxy_next_upstream_timeout"],
            _ => &["proxy_next_upstream", "proxy_next_upstream_tries"],
        },
        System::AwsConfig => match field {
            "attempts" => &["max_attempts", "retry_mode"],
            _ => &["retry_mode", "max_attempts"],
        },
    }
}

/// The fields of an object that are about its policy; empty if all are.
pub(crate) const fn parts(system: System) -> &'static [&'static str] {
    match system {
        System::Core(Form::Grpc) => &["retryPolicy", "hedgingPolicy", "timeout", "retryThrottling"],
        System::Core(Form::StepFunctions) => &["Retry", "TimeoutSeconds"],
        System::Core(Form::GatewayApi) => &["retry", "timeouts", "retryConstraint"],
        System::Core(Form::Istio) => &["retries", "timeout", "trafficPolicy"],
        System::Core(_) | System::Haproxy | System::Nginx => &[],
        System::Envoy => &["retry_policy", "timeout", "circuit_breakers"],
        System::KubernetesJob => &["backoffLimit", "backoffLimitPerIndex", "activeDeadlineSeconds"],
        System::ArgoWorkflows => &["retryStrategy", "activeDeadlineSeconds"],
        System::Lambda => &[
            "MaximumRetryAttempts",
            "maximumRetryAttempts",
            "maximum_retry_attempts",
            "MaximumEventAgeInSeconds",
            "maximumEventAge",
            "maximum_event_age_in_seconds",
        ],
        System::Sqs => &["redrive", "visibility", "retention"],
        System::AwsConfig => &["retry_mode", "max_attempts"],
    }
}

fn names_of_core(form: Form, field: &str) -> &'static [&'static str] {
    use Form as F;
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
