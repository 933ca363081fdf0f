"""The named policies and their sources."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .types import PresetName


def presets() -> dict[PresetName, str]:
    """Each preset's name, and the system and source it is from."""
    return {
        "default": "holdoff's own",
        "langgraphgo": "langgraphgo, DefaultRetryConfig of a node (graph/retry.go)",
        "langgraphgo-graph": "langgraphgo, RetryPolicy of a graph, exponential (graph/state_graph.go)",
        "kubernetes": "client-go, retry.DefaultBackoff (util/retry/util.go)",
        "aster": "Aster, workflow retry (docs/runtime/retry-semantics.md)",
        "aws-standard-2.0": "AWS SDKs, standard mode before 2026 (docs.aws.amazon.com/sdkref, feature-retry-behavior)",
        "aws-standard-2.1": "AWS SDKs, standard mode of 2026 (docs.aws.amazon.com/sdkref, feature-retry-behavior)",
        "grpc": "gRPC, retryPolicy with the numbers of its proposal (gRFC A6)",
        "temporal": "Temporal, default RetryPolicy (docs.temporal.io, Retry policies)",
        "google-cloud": "google-api-core, Retry (google/api_core/retry)",
        "resilience4j": "resilience4j, RetryConfig.ofDefaults()",
        "polly": "Polly in .NET's HTTP clients, HttpRetryStrategyOptions (Microsoft.Extensions.Http.Resilience)",
        "chromium": "Chromium, request throttler (net/url_request/url_request_throttler_entry.cc)",
        "tenacity-random-exponential": "tenacity, wait_random_exponential(multiplier=1, max=60)",
        "aws-adaptive": "AWS SDKs, adaptive mode (docs.aws.amazon.com/sdkref, feature-retry-behavior)",
        "llm": "OpenAI's and Anthropic's SDKs (_base_client.py), with full jitter and a budget",
    }
