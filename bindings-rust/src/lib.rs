//! Retry with backoff, jitter and deadlines: blocking and async loops over the pure core.
