"""What a type checker sees of the installed wheel."""

from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any, TypeVar

import holdoff.machines
from holdoff.types import PolicyFields, RetryOptions

T = TypeVar("T")


@holdoff.retry
def bare(url: str, *, verbose: bool = False) -> bytes:
    return url.encode()


@holdoff.retry(on=(OSError, TimeoutError), attempts=5, deadline=timedelta(seconds=30))
async def awaited(url: str) -> int:
    return len(url)


class Client:
    @holdoff.retry(backoff={"kind": "linear", "initial": "50ms"}, jitter="equal")
    def get(self, path: str) -> str:
        return path

    @classmethod
    @holdoff.retry
    def make(cls, path: str) -> str:
        return path

    @staticmethod
    @holdoff.retry
    def join(path: str) -> str:
        return path


class Derived(Client):
    @holdoff.retry(attempts=2)
    def get(self, path: str) -> str:
        return super().get(path)


class Plain(Client):
    def get(self, path: str) -> str:
        return path


@holdoff.retry
def same(value: T) -> T:
    return value


def shows_its_policy(response: object) -> str | None:
    policies: list[holdoff.Policy] = [bare.holdoff.policy, awaited.holdoff.policy, same.holdoff.retrying.policy]
    once: bytes = bare.holdoff.with_options(attempts=1)("url")
    plain: Callable[[str], Coroutine[Any, Any, int]] = awaited.__wrapped__
    texts: list[str] = [Client.make("/"), Client().make("/"), Client.join("/"), Client().join("/"), Derived().get("/")]
    outcome = holdoff.outcome_of(response)
    number: int = same(3)
    print(policies, once, plain, texts, number, bare.__name__, Client.get(Client(), "/"), Plain().get("/"))
    return None if outcome is None else outcome.reason


def keeps_types() -> None:
    function: Callable[[str], bytes] = bare
    coroutine: Callable[[str], Coroutine[Any, Any, int]] = awaited
    text: str = Client().get("/")
    policy = holdoff.Policy(attempts="forever", deadline=5.5, hint={"max": "30s", "over": "clamp"})
    number: int = policy.call(len, "four")
    again: int = policy.retrying(on=OSError).call(int, "4", base=8)
    fields: PolicyFields = {"attempts": 3}
    for attempt in holdoff.attempts(holdoff.Policy(**fields), on=lambda error: isinstance(error, OSError)):
        with attempt:
            left: float | None = attempt.remaining
            print(function, coroutine, text, number, again, left)


async def awaits() -> int:
    async for attempt in holdoff.attempts(attempts=3):
        with attempt:
            return await awaited("url")
    return await holdoff.Policy().call(awaited, "url")


def returns_from_a_block() -> bytes:
    for attempt in holdoff.attempts(on=OSError):
        with attempt:
            return bare("url", verbose=True)
    raise AssertionError


def changes_options(retrying: holdoff.Retrying) -> bytes:
    options: RetryOptions = {"attempts": 1, "on": OSError}
    return retrying.with_options(**options).call(bare, "url")


def documents(text: str) -> None:
    chain = holdoff.Policy(
        backoff=[{"kind": "constant", "delay": 0, "times": 1}, {"initial": "1s", "from": None, "jitter": "none"}],
        rules=[
            {"if": {"types": ["CardDeclined"]}, "retry": False},
            {"if": [{"http": [408, "5xx"]}, {"grpc": ["UNAVAILABLE", 8], "idempotent": False}], "retry": True},
            {"if": {"kinds": ["throttled"]}, "attempts": 9, "backoff": {"initial": "1s", "max": 20}, "hint": "exact"},
        ],
        hint={"mode": "at_least", "reach": "5s"},
    )
    preset = holdoff.Policy("grpc", attempts=9)
    document: str = holdoff.Policy.from_json(text).to_json()
    for row in preset.explain(after="throttled"):
        longest: int = row.max
        print(chain.lints()[0].text, document, longest, preset.to_form("temporal"))
    for attempt in holdoff.attempts("kubernetes", idempotent=False):
        with attempt:
            print(holdoff.hint_of({"Retry-After": "1"}), holdoff.grpc_failure(14))


@holdoff.retry(on_result=lambda found: found is None, on_give_up=lambda event: print(event.reason), attempts=3)
def looks(key: str) -> int | None:
    return len(key)


def results() -> tuple[int | None, str]:
    policy = holdoff.Policy(rules=[{"if": {"http": [202, 503]}, "retry": True}])
    heard: list[object] = []
    caller = policy.retrying(on_result=True, on_retry=lambda event: heard.append(event.error or event.value))
    judged = holdoff.Retrying(policy, on_result=lambda text: holdoff.Failure(hint="1s") if text == "" else None)
    return looks("key"), caller.call(judged.call, str, 3)


@holdoff.retry(policy="temporal", idempotent=False)
def preset_by_name(number: int) -> int:
    return number


def machines(state: bytes) -> int | None:
    layers = holdoff.machines.Layers("kubernetes", holdoff.Policy(), attempts=9, go_on_after=["attempts"])
    layered, step = holdoff.machines.Layered.begin(layers, 7, 0)
    loop_backoff = holdoff.machines.LoopBackoff(holdoff.machines.WaitBackoff("1s", factor=2, steps=4), after_quiet=60)
    loop: holdoff.machines.PeriodicStep = holdoff.machines.Periodic(loop_backoff, timer="grid").tick(0)
    wait: int | None = holdoff.machines.Bucket(10, 5).reserve(0)
    keyed = holdoff.machines.Keyed(holdoff.machines.GateConfig(forgives="all"), most=9)
    gate: holdoff.machines.Gate | None = keyed.peek("key", 0)
    print(layered.stopped_by, step.ticket, loop.ended, wait, gate, preset_by_name(3))
    return (
        holdoff.machines.Retry.resume(state, "default", 0, away="1m").on_failure("default", 0, holdoff.Failure()).until
    )


def explains(error: OSError) -> str:
    outcome = holdoff.outcome_of(error)
    return "" if outcome is None else f"{outcome.reason} after {outcome.attempts}, again in {outcome.retry_in}"


def guarded() -> None:
    budget = holdoff.Budget(kind="token", capacity=500)
    guards = holdoff.Guards(budget=budget, breaker={"failures": 5, "open_for": {"kind": "exponential", "initial": 1}})
    keyed = holdoff.KeyedGuards(bulkhead={"limit": 3}, limiter={"limit": 0.5, "refusal": "wait"}, idle="10m")
    value: int = holdoff.retry(guards=keyed.of("host"), fallback=lambda error: 0)(len)("four")
    policy = holdoff.Policy(hedge="50ms", nested={"mode": "cap", "cap": 6}, stretch=2.5, adaptive="aimd")
    own: holdoff.Guards | None = policy.guards
    saved: dict[str, bytes] = guards.save()
    again = holdoff.Guards.restore(policy, saved)
    call, step = holdoff.machines.GuardedCall.begin(policy, again, 1, 0)
    reason: str | None = step.reason
    with holdoff.inside(holdoff.Token.from_header("2")):
        token: holdoff.Token | None = holdoff.token()
    for attempt in holdoff.attempts(policy, guards={"breaker": "count"}):
        with attempt:
            print(value, own, call.cancel(again, 0), reason, token)
