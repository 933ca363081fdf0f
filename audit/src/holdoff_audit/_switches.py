"""How to switch off the retries of known packages. An audit finds loops without this table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Switch:
    """How one package is told not to retry."""

    off: str
    checked: tuple[str, ...] = ()
    """Names that the text relies on, as ``module:name``, ``module:callable(parameter)`` or ``module:container[item]``.
    A test looks them up in the package."""
    retries: bool = False
    """True for packages whose loops are always retries."""


SWITCHES: dict[str, Switch] = {
    "aiohttp": Switch(
        "none in public: aiohttp repeats a request once when its connection breaks", ("aiohttp:ClientSession",)
    ),
    "aiohttp_retry": Switch("ExponentialRetry(attempts=1)", ("aiohttp_retry:ExponentialRetry(attempts)",), True),
    "anthropic": Switch("Anthropic(max_retries=0), or holdoff.wrap(client)", ("anthropic:Anthropic(max_retries)",)),
    "azure.core": Switch("retry_total=0", ("azure.core.pipeline.policies:RetryPolicy",)),
    "backoff": Switch("remove the decorator", ("backoff:on_exception", "backoff:on_predicate"), True),
    "botocore": Switch(
        'Config(retries={"total_max_attempts": 1})', ("botocore.config:Config.OPTION_DEFAULTS[retries]",)
    ),
    "celery.app.task": Switch(
        "max_retries=0 on the task", ("celery:Task.max_retries", "celery.app.task:Task.apply"), True
    ),
    "google.api_core": Switch("retry=None", ("google.api_core.retry:Retry",), True),
    "holdoff": Switch("keep it as the only layer", ("holdoff:retry", "holdoff:wrap")),
    "httpcore": Switch("HTTPTransport(retries=0)", ("httpx:HTTPTransport(retries)",)),
    "httpcore2": Switch("HTTPTransport(retries=0)", ("httpx2:HTTPTransport(retries)",)),
    "httpx_retries": Switch("Retry(total=0)", ("httpx_retries:Retry(total)",), True),
    "langchain_core": Switch("no with_retry()", ("langchain_core.runnables:Runnable.with_retry",)),
    "langchain_core.runnables.fallbacks": Switch(
        "no with_fallbacks()", ("langchain_core.runnables:Runnable.with_fallbacks",)
    ),
    "langgraph": Switch("no retry_policy on the node", ("langgraph.graph:StateGraph.add_node(retry_policy)",)),
    "litellm": Switch(
        "num_retries=0 and max_retries=0",
        ("litellm:num_retries", "litellm.types.utils:all_litellm_params[max_retries]"),
    ),
    "openai": Switch("OpenAI(max_retries=0), or holdoff.wrap(client)", ("openai:OpenAI(max_retries)",)),
    "redis": Switch("Redis(retry=None)", ("redis:Redis(retry)",)),
    "requests": Switch("HTTPAdapter(max_retries=0)", ("requests.adapters:HTTPAdapter(max_retries)",)),
    "retrying": Switch("remove the decorator", ("retrying:retry",), True),
    "stamina": Switch("remove the decorator, or attempts=1", ("stamina:retry(attempts)",), True),
    "tenacity": Switch(
        "remove the decorator, or stop_after_attempt(1)", ("tenacity:retry", "tenacity:stop_after_attempt"), True
    ),
    "urllib3": Switch("Retry(0)", ("urllib3:Retry(total)",)),
}

RETRIES = frozenset(name for name, switch in SWITCHES.items() if switch.retries)


ATTEMPTS = {
    "holdoff._attempts.Attempt": "_operation",
    "stamina._core.Attempt": "_t_attempt.retry_state",
    "tenacity.AttemptManager": "retry_state",
}
"""The classes of a program's `for attempt in ...`, each with the attribute that the attempts of one loop share."""


def package_of(module: str) -> str:
    """The package of a module: the longest name in the table, or the first part of the module's name."""
    parts = module.split(".")
    names = [".".join(parts[:end]) for end in range(len(parts), 0, -1)]
    return next((name for name in names if name in SWITCHES), names[-1])
