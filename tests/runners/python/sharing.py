"""The kinds of vectors that are about guards: what many calls share, and what happens to a call that shares it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdoff import Adaptive, Breaker, Guards, Hedge, Policy, Stretch, Token
from holdoff.machines import NEVER, GuardedCall, Retry, Step
from recorded import Case, Different
from words import decision, failure, number, plain, same, step, word, written

SECTIONS = ("budget", "breaker", "limiter", "adaptive", "bulkhead", "stretch", "hedge", "pause")


def answers(case: Case, events: str, expected: str) -> Any:
    """Each event with what is expected of it."""
    if len(case[events]) != len(case[expected]):
        raise Different(f"{len(case[expected])} answers for {len(case[events])} events")
    return enumerate(zip(case[events], case[expected], strict=True))


def section(name: str, value: Any) -> Guards:
    """The guards of a document that has only this one, made at 0."""
    return Guards.restore(Policy.from_dict({name: value}), {}, seed=0, now=0)


class Spender:
    """A budget at work, and what each call holds of it."""

    def __init__(self, case: Case) -> None:
        policy = Policy.from_dict({"budget": case["budget"]})
        budget = Guards.restore(policy, {}, seed=number(case.get("seed", 0)), now=0).budget
        if budget is None:
            raise Different("no budget")
        self.budget, self.now = budget, 0
        self.held: dict[int, int] = {}

    def hand(self, event: Case) -> int:
        """How many yeses an event gets."""
        if event["op"] == "repeat":
            return sum(self.hand(one) for _ in range(event.get("times", 0)) for one in event["events"])
        now = self.now = number(event["at"])
        op, kind, call, budget = event["op"], event.get("kind", "transient"), event.get("call", 0), self.budget
        if op == "admit":
            return int(budget.admit(now))
        if op == "withdraw":
            held = budget.withdraw(kind, now)
            if held is not None:
                self.held[call] = held
            return int(held is not None)
        if op == "begin":
            self.held.pop(call, None)
            budget.begin(now)
        elif op == "fail":
            budget.fail(kind, now)
        elif op == "refund":
            budget.refund(self.held.pop(call), now)
        elif op == "retried":
            budget.retried()
        elif op == "succeed":
            budget.succeed(self.held.get(call), now)
        elif op == "end":
            budget.end()
        elif op != "look":
            raise Different(f"unknown event {op!r}")
        return 0


def run_budget(case: Case) -> None:
    spender = Spender(case)
    for at, (event, expected) in answers(case, "events", "answers"):
        allowed, got = spender.hand(event), dict[str, Any]()
        if "allowed" in expected:
            got["allowed"] = allowed > 0 if isinstance(expected["allowed"], bool) else allowed
        if "balance" in expected:
            got["balance"] = spender.budget.balance(spender.now)
        if "rejection" in expected:
            rejection = spender.budget.rejection(spender.now)
            near = abs(rejection - expected["rejection"]) <= case.get("within", 0.0)
            got["rejection"] = expected["rejection"] if near else rejection
        same(expected, got, at)


def run_window(case: Case) -> None:
    """The window of a breaker that never opens."""
    config = case["config"]
    breaker = Breaker(
        kind="time",
        window=f"{number(config['window_ns'])}ns",
        slots=config["slots"],
        min_calls=2**32 - 1,
        failure_rate=1.0,
        slow_after="1ns",
        now=number(config.get("began_ns", 0)),
    )
    sorts = {"ok": (False, 0), "failed": (True, 0), "slow_ok": (False, 1), "slow_failed": (True, 1)}
    for at, (record, expected) in answers(case, "records", "after"):
        now = number(record["at_ns"])
        for sort, (failed, took) in sorts.items():
            for _ in range(record.get(sort, 0)):
                permit = breaker.acquire(now)
                if permit is None:
                    raise Different(f"it opened (at step {at})")
                breaker.record(permit, failed, took, now)
        total, failures, slow = breaker.rates(now)
        rates = {"failure_rate": failures / total if total else 0, "slow_rate": slow / total if total else 0}
        same(expected, {"total": total, "failed": failures, "slow": slow, **rates}, at)


def run_breaker(case: Case) -> None:
    policy = Policy.from_dict({"breaker": case["breaker"]})
    made = number(case.get("made", 0))
    breaker = Guards.restore(policy, {}, seed=number(case.get("seed", 0)), now=made).breaker
    if breaker is None:
        raise Different("no breaker")
    permits = list[int | None]()
    for at, (event, expected) in answers(case, "events", "answers"):
        now, got, permit = number(event["now"]), dict[str, Any](), None
        if event["event"] == "acquire":
            permit = breaker.acquire(now)
            got["refused"] = written(breaker.retry_at) if permit is None else None
        elif event["event"] in ("record", "abandon"):
            held = permits[number(event["permit"])]
            if held is None:
                raise Different(f"event {event['permit']} gave no permit")
            if event["event"] == "record":
                breaker.record(held, event["verdict"] == "failure", number(event.get("took", 0)), now)
            else:
                breaker.abandon(held, now)
        elif event["event"] == "hint":
            breaker.hint(number(event["span"]), now)
        else:
            others = {"isolate": breaker.isolate, "close": breaker.force_close, "reset": breaker.reset}
            if event["event"] != "look":
                others[event["event"]](now)
        permits.append(permit)
        got |= {"state": breaker.state(now), "counts": list(breaker.rates(now)), "openings": breaker.openings}
        same(plain(expected), got, at)


def run_limiter(case: Case) -> None:
    policy = Policy.from_dict({"limiter": case["limiter"]})
    limiter = Guards.restore(policy, {}, now=number(case.get("made", 0))).limiter
    if limiter is None:
        raise Different("no limiter")
    for at, (event, expected) in answers(case, "events", "refused"):
        now, count, again = number(event["now"]), event.get("count", 1), None
        if event["event"] == "give_back":
            limiter.give_back(count, now)
        else:
            again = limiter.refuses(count, now)
            if event["event"] == "take" and limiter.take(count, now) != (again is None):
                raise Different(f"it takes otherwise than it says (at step {at})")
        same(plain(expected), None if again is None else written(again), at)


def run_bulkhead(case: Case) -> None:
    bulkhead = section("bulkhead", case["bulkhead"]).bulkhead
    if bulkhead is None:
        raise Different("no bulkhead")
    places = list[int | None]()

    def held(event: Case) -> int:
        place = places[number(event["place"])]
        if place is None:
            raise Different(f"event {event['place']} gave no place")
        return place

    for at, (event, expected) in answers(case, "events", "answers"):
        entry: str | int | None = None
        if event["event"] == "enter":
            entry = bulkhead.enter()
        elif event["event"] == "enter_from":
            entry = bulkhead.enter_from(held(event))
        elif event["event"] == "leave":
            bulkhead.leave()
        elif event["event"] == "leave_queue":
            bulkhead.leave_queue(held(event))
        else:
            raise Different(f"unknown event {event['event']!r}")
        places.append(entry if isinstance(entry, int) else None)
        got: Case = {"running": bulkhead.running, "waiting": bulkhead.waiting}
        if entry is not None:
            got["entry"] = "queued" if isinstance(entry, int) else entry
        same(expected, got, at)


class Sender:
    """An adaptive rate at work."""

    def __init__(self, case: Case) -> None:
        self.now = number(case["began_ns"])
        config, start = case["adaptive"], case.get("start")
        if start is None:
            self.guard = Adaptive(config, now=self.now)
        else:
            self.guard = Adaptive.started(
                config,
                rate=start["rate"],
                tokens=start["tokens"],
                measured=start["measured"],
                last_max_rate=start["last_max_rate"],
                throttled_at=number(start["throttled_ns"]),
                limits=start["limits"],
                now=self.now,
            )
        self.taken = 0
        self.wait: int | None = None

    def hand(self, event: Case, later: int = 0) -> None:
        op = event["op"]
        if "at_ns" in event:
            self.now = number(event["at_ns"]) + later
        if op == "repeat":
            for turn in range(event.get("times", 1)):
                for one in event["events"]:
                    self.hand(one, later + turn * number(event.get("every_ns", 0)))
        elif op == "update":
            self.guard.update(event.get("throttled", False), self.now)
        elif op == "give_back":
            self.guard.give_back(event.get("cost", 1.0), self.now)
        elif op in ("take", "call"):
            again = self.guard.refuses(event.get("cost", 1.0), self.now)
            if self.guard.take(event.get("cost", 1.0), self.now):
                self.taken += 1
                if op == "call":
                    self.guard.update(event.get("throttled", False), self.now)
            else:
                self.wait = again if again is None or again == NEVER else again - self.now


def run_adaptive(case: Case) -> None:
    sender, within = Sender(case), case["within"]

    def near(expected: float, got: float) -> bool:
        return bool(abs(got - expected) <= within * max(abs(expected), abs(got)))

    for at, (event, expected) in answers(case, "events", "answers"):
        sender.taken, sender.wait = 0, None
        sender.hand(event)
        guard, tokens = sender.guard, sender.guard.tokens(sender.now)
        got: Case = {"taken": sender.taken, "rate": guard.rate, "measured": guard.measured, "tokens": tokens}
        for name in ("rate", "measured", "tokens"):
            # Of tokens that are used up a rounding is left.
            used_up = name == "tokens" and expected.get(name) == 0 and abs(tokens) < 1e-9
            if name in expected and (used_up or near(expected[name], got[name])):
                got[name] = expected[name]
        if "wait_ns" in expected:
            wait, wanted = sender.wait, number(expected["wait_ns"])
            # A wait is cut to a nanosecond, too.
            got["wait_ns"] = expected["wait_ns"] if alike(wait, wanted, within) else wait
        same(expected, {name: got[name] for name in expected}, at)


def alike(wait: int | None, wanted: int, within: float) -> bool:
    if wait is None or NEVER in (wait, wanted):
        return wait == wanted
    return abs(wait - wanted) <= max(within * wanted, 1.0)


def run_stretch(case: Case) -> None:
    stretch = Stretch(case["stretch"], now=number(case["began_ns"]))
    for at, (event, expected) in answers(case, "events", "delays"):
        now, got = number(event["at_ns"]), None
        if event["op"] == "stretch":
            got = written(stretch.stretch(number(event["delay_ns"]), now))
        else:
            for _ in range(event.get("ok", 0)):
                stretch.record(False, now)
            for _ in range(event.get("failed", 0)):
                stretch.record(True, now)
        same(plain(expected), got, at)


def run_latency(case: Case) -> None:
    hedge = Hedge(case["hedge"])
    quantiles = [hedge.quantile]
    for took in case["took_ns"]:
        hedge.record(number(took))
        quantiles.append(hedge.quantile)
    for at, (expected, got) in enumerate(zip(case["quantile_ns"], quantiles, strict=True)):
        same(plain(expected), None if got is None else written(got), at)
    same(plain(case["delay_ns"]), written(hedge.delay))


def count(value: int | str) -> int | None:
    """A number of attempts, None for ever."""
    return None if value == "forever" else int(value)


def run_nested(case: Case) -> None:
    token: Token | None = None
    for attempt, attempts in case.get("around", []):
        token = Token(2**32 - 1 if attempt == "forever" else attempt, count(attempts), token)
    if "header" in case:
        token = Token.from_header(case["header"])
    elif "grpc" in case:
        token = Token.from_grpc(case["grpc"])
    known: Case | None = None
    if token is not None:
        known = {
            "attempt": token.attempt,
            "allowed": "forever" if token.allowed is None else token.allowed,
            "depth": token.depth,
            "header": token.header,
            "grpc": token.grpc,
        }
    same(case["token"], known)
    policy = Policy.from_dict({"nested": case["nested"], "attempts": case["own"]})
    attempts = policy.attempts_inside(token)
    same(case["attempts"], "forever" if attempts is None else attempts)
    if "inner" in case:
        same(plain(case["judged"]), word(policy.after_inner(failure(case["inner"]))))


class Session:
    """Calls and the guards that they share."""

    def __init__(self, policy: Case, seed: int, start: int) -> None:
        self.policy = Policy.from_dict(policy)
        self.guards = Guards.restore(self.policy, {}, seed=seed, now=start)
        self.calls: dict[int, GuardedCall] = {}

    def put(self, event: Case) -> Step | None:
        """What is said to an event; nothing to one that is not of a call."""
        op, now = event["op"], number(event["now"])
        if op == "begin":
            call, first = GuardedCall.begin(self.policy, self.guards, number(event["seed"]), now)
            self.calls[event["call"]] = call
            return first
        if op == "move":
            self.calls.clear()
            self.guards = Guards.restore(self.policy, self.guards.save(now), now=number(event["to"]))
            return None
        breaker = self.guards.breaker
        if op in ("isolate", "force_close", "reset"):
            if breaker is None:
                raise Different("there is no breaker")
            changes = {"isolate": breaker.isolate, "force_close": breaker.force_close, "reset": breaker.reset}
            changes[op](now)
            return None
        call = self.calls[event["call"]]
        if op == "succeed":
            return call.succeed(self.guards, number(event["ticket"]), now)
        if op == "fail":
            return call.fail(self.policy, self.guards, number(event["ticket"]), now, failure(event["failure"]))
        if op == "abandon":
            return call.abandon(self.guards, number(event["ticket"]), now)
        if op == "tick":
            return call.tick(self.policy, self.guards, now)
        if op == "cancel":
            return call.cancel(self.guards, now)
        raise Different(f"unknown event {op!r}")

    def balance(self, now: int) -> float | None:
        budget = self.guards.budget
        return None if budget is None else budget.balance(now)

    def after(self, now: int) -> Case:
        """What the guards say at a time."""
        guards = self.guards
        return {
            "budget": self.balance(now),
            "breaker": guards.breaker and guards.breaker.state(now),
            "openings": guards.breaker and guards.breaker.openings,
            "running": guards.bulkhead and guards.bulkhead.running,
            "waiting": guards.bulkhead and guards.bulkhead.waiting,
            "rate": guards.adaptive and guards.adaptive.rate,
        }


def run_guarded(case: Case) -> None:
    session = Session(case["policy"], number(case["seed"]), number(case["start"]))
    for at, (event, expected) in answers(case, "events", "steps"):
        got = session.put(event)
        same(plain(expected), None if got is None else step(got), at)
    if (after := case.get("after")) is not None:
        got_after = session.after(number(after["now"]))
        same(after, {name: after["now"] if name == "now" else got_after[name] for name in after})


def run_paid(case: Case) -> None:
    """What calls with a budget decide after each attempt, and what the budget has then."""
    started, seed, of = number(case["started"]), number(case["seed"]), 0
    session = Session(case["policy"], 0, started)
    now_holds = session.put({"op": "begin", "call": 0, "seed": seed, "now": started})
    rows = zip(case["failures"], case["decisions"], case["tokens"], strict=True)
    for at, (one, expected, tokens) in enumerate(rows):
        now = number(one["now"])
        if one.get("new_call", False):
            of += 1
            now_holds = session.put({"op": "begin", "call": of, "seed": seed, "now": now})
        elif now_holds is not None and now_holds.kind == "sleep":
            now_holds = session.put({"op": "tick", "call": of, "now": now})
        if now_holds is None or now_holds.ticket is None:
            raise Different(f"no attempt runs at {now} (at step {at})")
        event = {"call": of, "ticket": now_holds.ticket, "now": now}
        failed = {"op": "fail", "failure": one["failure"]} if "failure" in one else {"op": "succeed"}
        now_holds = session.put(event | failed)
        if now_holds is None:
            raise Different(f"no decision (at step {at})")
        same(plain(expected), decided(now_holds), at)
        if tokens is not None:
            same(tokens, session.balance(now), at)


def decided(of: Step) -> Case:
    """A step as a decision."""
    if of.kind == "sleep":
        return {"kind": "sleep", "until": written(of.until or 0), "cause": of.cause}
    if of.outcome == "gave_up":
        return {"kind": "give_up", "reason": of.reason, "retry_at": written(of.retry_at or 0)}
    return {"kind": of.outcome}


def run_retry(case: Case) -> None:
    if "tokens" in case:
        return run_paid(case)
    policy = Policy.from_dict(case["policy"])
    retry = Retry(number(case["seed"]), number(case["started"]))
    for at, (failed, expected) in enumerate(zip(case["failures"], case["decisions"], strict=True)):
        got = retry.on_failure(policy, number(failed["now"]), failure(failed["failure"]))
        same(plain(expected), decision(got), at)
    return None


KINDS: dict[str, Callable[[Case], None]] = {
    "retry": run_retry,
    "budget": run_budget,
    "breaker": run_breaker,
    "breaker_window": run_window,
    "limiter": run_limiter,
    "bulkhead": run_bulkhead,
    "adaptive": run_adaptive,
    "stretch": run_stretch,
    "latency": run_latency,
    "nested": run_nested,
    "guarded": run_guarded,
}
