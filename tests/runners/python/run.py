"""Runs vector files through the installed package's raw machines: run.py PATH, a file or a folder.

run.py PATH --logs COUNT --seed S plays so many random logs with the policies in the folder and prints their digest.
run.py PATH --relay LOG goes on with a call.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import aster
import aster_estimate
import extras
import graph
import logs
import periodic
import random_logs
import recorded
import relay
import sharing
import traces
from holdoff import ConfigError, Policy, hint_of, http_failure, parse_duration, testing
from holdoff.machines import (
    NEVER,
    Call,
    Chaos,
    Gate,
    GateConfig,
    Keyed,
    Layered,
    Layers,
    LoopBackoff,
    Retry,
    SaveError,
    Schedule,
    Step,
    WaitBackoff,
)
from holdoff.testing import seed_at
from recorded import Case, Different
from words import decision, failure, number, plain, same, span, step, word, written

SHOWN = 5


def begun(policy: Policy, seed: int, event: Case) -> tuple[Call, Step | None]:
    """The call that an event begins, and its first step if it says one."""
    if event["op"] == "begin":
        return Call.begin(policy, seed, number(event["now"]))
    if event["op"] == "underway":
        return Call.underway(seed, number(event["started"])), None
    raise Different(f"{event['op']} before the call began")


def follow(call: Call, policy: Policy, event: Case) -> Step:
    """What a call says to an event that is no beginning."""
    op, now = event["op"], number(event["now"])
    if op == "fail":
        return call.fail(policy, number(event["ticket"]), now, failure(event["failure"]))
    if op == "tick":
        return call.tick(policy, now)
    if op == "succeed":
        return call.succeed(number(event["ticket"]), now)
    if op == "cancel":
        return call.cancel(now)
    raise Different(f"unknown event {op!r}")


def run_call(case: Case) -> None:
    policy, seed = Policy.from_dict(case["policy"]), number(case["seed"])
    events, steps = case["events"], case["steps"]
    if len(events) != len(steps):
        raise Different(f"{len(events)} events but {len(steps)} steps")
    call, first = begun(policy, seed, events[0])
    same(plain(steps[0]), None if first is None else step(first), 0)
    for at, (event, expected) in enumerate(zip(events[1:], steps[1:], strict=True), 1):
        same(plain(expected), step(follow(call, policy, event)), at)


def run_layered(case: Case) -> None:
    outer, inner = Policy.from_dict(case["outer"]), Policy.from_dict(case["inner"])
    layers = Layers(outer, inner, attempts=case.get("attempts"), go_on_after=case.get("go_on_after"))
    events, seed = case["events"], number(case["seed"])
    if events[0]["op"] == "begin":
        call, first = Layered.begin(layers, seed, number(events[0]["now"]))
    else:
        call, first = Layered.underway(layers, seed, number(events[0]["started"])), None
    for at, (event, expected) in enumerate(zip(events, case["answers"], strict=True)):
        now = number(event.get("now", 0))
        if at == 0:
            got = first
        elif event["op"] == "fail":
            outward = failure(event["outward"]) if "outward" in event else None
            got = call.fail(layers, number(event["ticket"]), now, failure(event["failure"]), outward=outward)
        elif event["op"] == "tick":
            got = call.tick(layers, now)
        else:
            got = call.succeed(number(event["ticket"]), now) if event["op"] == "succeed" else call.cancel(now)
        answer = {
            "step": None if got is None else step(got),
            "outer_attempt": call.outer_attempt,
            "inner_attempt": call.inner_attempt,
            "stopped_by": call.stopped_by,
            "inner_reason": call.inner_reason,
        }
        same(plain(expected), answer, at)


def run_loop_backoff(case: Case) -> None:
    of, made = case["backoff"], number(case["made"])
    factor, jitter, steps = of["factor"], of["jitter"], number(of["steps"])
    backoff = WaitBackoff(span(of["duration"]), factor=factor, jitter=jitter, cap=span(of["cap"]), steps=steps)
    reset: Case = {} if case["reset"] == "never" else case["reset"]
    quiet, every = (span(reset[rule]) if rule in reset else None for rule in ("after_quiet", "every"))
    machine = LoopBackoff(backoff, after_quiet=quiet, every=every, now=made)
    for at, (ask, expected) in enumerate(zip(case["asks"], case["delays"], strict=True)):
        with testing.uniform(ask.get("u", 0.0)):
            same(plain(expected), written(machine.next(number(ask["now"]))), at)


def run_chaos(case: Case) -> None:
    rates = {"failure_rate": case["failure_rate"], "latency_rate": case["latency_rate"]}
    shortest, longest = span(case["shortest"]), span(case["longest"])
    machine = Chaos(seed=number(case["seed"]), shortest=shortest, longest=longest, **rates)
    for at, (ask, expected) in enumerate(zip(case["asks"], case["answers"], strict=True)):
        k = number(ask)
        same(plain(expected), {"fails": machine.fails(k), "latency": written(machine.latency(k))}, at)


def run_schedule(case: Case) -> None:
    schedule = Schedule(Policy.from_dict(case["policy"]), number(case["seed"]))
    for at, expected in enumerate(case["delays"]):
        got = next(schedule, None)
        same(plain(expected), None if got is None else written(got), at)
    same(case["ends"], next(schedule, None) is None, len(case["delays"]))


def run_policy(case: Case) -> None:
    error: Case | None = None
    try:
        Policy.from_dict(case["policy"])
    except ConfigError as e:
        error = {"code": e.code, "name": e.name, "path": e.path, "nearest": e.nearest}
    same(case["error"], error)


def refusal(case: Case, read: Callable[[], object]) -> None:
    error: Case | None = None
    try:
        read()
    except ConfigError as e:
        error = {"code": e.code, "name": e.name, "path": e.path, "nearest": e.nearest}
        if "rule" in (case["error"] or {}):
            error["rule"] = e.rule
    same(case["error"], error)


def run_document(case: Case) -> None:
    refusal(case, lambda: Policy.from_json(case["text"]))


def run_form(case: Case) -> None:
    def read(document: str | Case) -> Policy:
        return Policy.from_form(case["form"], document, entry=case["entry"])

    for document in (case["text"], json.loads(case["text"])):
        if case["document"] is None:
            refusal(case, partial(read, document))
        else:
            same(Policy.from_dict(case["document"]).to_json(), read(document).to_json())


def run_explain(case: Case) -> None:
    policy = Policy.from_dict(case["policy"])
    same(case["lines"], str(policy.explain()).rstrip().split("\n"))
    same(None if case["total_wait"] is None else number(case["total_wait"]), policy.total_wait_ns)


def run_http(case: Case) -> None:
    got = http_failure(case["status"], case["retry_after"], wall_ns=NEVER)
    same(plain(case["failure"]), None if got is None else word(got))


def run_hint(case: Case) -> None:
    got = hint_of(case["headers"], status=case.get("status", 0), wall_ns=number(case.get("wall", "never")))
    same(plain(case["hint"]), "none" if got is None else got if isinstance(got, str) else written(got))


def run_classify(case: Case) -> None:
    policy = Policy.from_dict(case["policy"])
    got = policy.judge(
        failure(case["failure"]),
        http=case["http"],
        grpc=case["grpc"],
        codes=case.get("codes", []),
        types=case.get("types", []),
        message=case["message"],
        idempotent=case["idempotent"],
        unsent=case.get("unsent", False),
        program_fault=case.get("program_fault", False),
        should_retry=case.get("should_retry"),
    )
    same(plain(case["judged"]), word(got))
    if "rule" in case:
        same(case["rule"], got.rule or 0)


def run_backoff(case: Case) -> None:
    schedule = Schedule(Policy.from_dict(case["policy"]), 0)
    uniforms, kinds, within = case.get("uniforms", []), case.get("kinds", []), number(case.get("within") or 0)
    for at, expected in enumerate(case["delays"]):
        u = uniforms[at] if at < len(uniforms) else None
        got = testing.next_at(schedule, kinds[at] if at < len(kinds) else "transient", 0.0 if u is None else u)
        if got is None or abs(got - number(expected)) > within:
            same(plain(expected), None if got is None else written(got), at)
    if case.get("ends") is not None:
        same(case["ends"], next(schedule, None) is None, len(case["delays"]))


def gate_config(of: Case) -> GateConfig:
    if of["preset"] == "chromium":

        def limit(name: str) -> int | None:
            return of[name] if of[name] >= 0 else None

        return GateConfig.chromium(
            initial_delay_ms=of["initial_delay_ms"],
            multiply_factor=of["multiply_factor"],
            jitter_factor=of["jitter_factor"],
            maximum_backoff_ms=limit("maximum_backoff_ms"),
            entry_lifetime_ms=limit("entry_lifetime_ms"),
            errors_to_ignore=of["num_errors_to_ignore"],
            always_use_initial_delay=of["always_use_initial_delay"],
        )
    if of["preset"] == "flowcontrol":
        return GateConfig.flowcontrol(span(of["initial"]), span(of["max"]), max_jitter=of["max_jitter"])
    if of["preset"] == "item_exponential":
        return GateConfig.item_exponential(span(of["base"]), span(of["max"]))
    return GateConfig.fast_slow(span(of["fast"]), span(of["slow"]), of["max_fast_attempts"])


def run_keyed(case: Case) -> None:
    config = gate_config(case["gate"])
    gates = Keyed(config, most=case["most"])
    for at, (op, expected) in enumerate(zip(case["ops"], case["answers"], strict=True)):
        key, now = op["key"], number(op["now"])
        if op["op"] == "failure":
            with testing.uniform(op.get("u", 0.0)):
                gates.failure(key, now)
        elif op["op"] == "success":
            gates.success(key, now)
        elif op["op"] == "release_at":
            gates.release_at(key, now, number(op["at"]))
        elif op["op"] == "forget":
            gates.forget(key)
        gate = gates.peek(key, now) or Gate()
        got = {
            "reject": not gates.is_open(key, now),
            "release": written(gate.release),
            "can_discard": gate.is_discardable(config, now),
            "keys": gates.keys(),
        }
        same(plain(expected), got, at)


def run_gate(case: Case) -> None:
    if "most" in case:
        run_keyed(case)
        return
    config, gate = gate_config(case["gate"]), Gate()
    for at, (op, expected) in enumerate(zip(case["ops"], case["answers"], strict=True)):
        now = number(op["now"])
        if op["op"] == "failure":
            with testing.uniform(op.get("u", 0.0)):
                gate.failure(config, now)
        elif op["op"] == "success":
            gate.success(config, now)
        elif op["op"] == "release_at":
            gate.release_at(number(op["at"]))
        elif op["op"] == "forget":
            gate.forget()
        elif op["op"] != "look":
            raise Different(f"unknown op {op['op']!r} (at step {at})")
        discardable = gate.is_discardable(config, now)
        got = {"reject": not gate.is_open(now), "release": written(gate.release), "can_discard": discardable}
        same(plain(expected), got, at)


def run_save(case: Case) -> None:
    policy = Policy.from_dict(case["policy"])
    at, resumed_at = number(case["saved_at"]), number(case["resumed_at"])
    if case["machine"] == "retry":
        retry = Retry(number(case["seed"]), number(case["started"]))
        for one in case["failures"]:
            retry.on_failure(policy, number(one["now"]), failure(one["failure"]))
        saved: Retry | Call = retry
    else:
        call, _ = begun(policy, number(case["seed"]), case["events"][0])
        for event in case["events"][1:]:
            follow(call, policy, event)
        saved = call
    same(case["bytes"], saved.save(policy, at).hex())
    same(case["json"], saved.to_dict(policy, at))
    same(case["json"], json.loads(saved.to_json(policy, at)))
    for state in (bytes.fromhex(case["bytes"]), case["json"], json.dumps(case["json"])):
        if case["machine"] == "retry":
            again = Retry.resume(state, policy, resumed_at)
            for step_at, (one, expected) in enumerate(zip(case["then"], case["decisions"], strict=True)):
                got = again.on_failure(policy, number(one["now"]), failure(one["failure"]))
                same(plain(expected), decision(got), step_at)
        else:
            resumed = Call.resume(state, policy, resumed_at)
            for step_at, (event, expected) in enumerate(zip(case["then"], case["steps"], strict=True)):
                same(plain(expected), step(follow(resumed, policy, event)), step_at)


def run_resume(case: Case) -> None:
    policy = Policy.from_dict(case["policy"])
    machine = Retry if case["machine"] == "retry" else Call
    state = bytes.fromhex(case["bytes"]) if "bytes" in case else case["json"]
    error: Case | None = None
    try:
        machine.resume(state, policy, 0, force=case.get("forced", False))
    except SaveError as e:
        error = {"code": e.code, "name": e.name, "path": e.path, "nearest": e.nearest}
    same(case["error"], error)


def run_duration(case: Case) -> None:
    nanos: int | None
    try:
        nanos = parse_duration(case["text"])
    except ConfigError:
        nanos = None
    same(plain(case["nanos"]), None if nanos is None else written(nanos))


def run_seed(case: Case) -> None:
    same(plain(case["seed"]), written(seed_at(number(case["n"]), number(case["k"]))))


KINDS: dict[str, Callable[[Case], None]] = {
    "call": run_call,
    "layered": run_layered,
    "chaos": run_chaos,
    "loop_backoff": run_loop_backoff,
    "schedule": run_schedule,
    "backoff": run_backoff,
    "policy": run_policy,
    "document": run_document,
    "form": run_form,
    "explain": run_explain,
    "http": run_http,
    "hint": run_hint,
    "classify": run_classify,
    "keyed_gate": run_gate,
    "save": run_save,
    "resume": run_resume,
    "duration": run_duration,
    "seed": run_seed,
    "trace": traces.run_trace,
    **logs.KINDS,
    **sharing.KINDS,
}


RECORDED: dict[str, Callable[[Case], recorded.Verdict]] = {
    **recorded.KINDS,
    "aster": aster.aster,
    "aster_estimate": aster_estimate.aster_estimate,
    "langgraphgo_extras": extras.extras,
    "langgraphgo_graph": graph.graph,
    "k8s_backoffuntil": periodic.k8s_backoffuntil,
    "k8s_exponential_backoff": periodic.k8s_exponential_backoff,
    "k8s_poll": periodic.k8s_poll,
}


class Tally:
    """What became of a file's cases."""

    def __init__(self) -> None:
        self.passed = self.failed = self.deviations = self.elsewhere = 0

    def run(self, run: Callable[[Case], object], case: Case) -> None:
        try:
            verdict = run(case)
        except Exception as e:
            self.failed += 1
            if self.failed <= SHOWN:
                what = str(e) if isinstance(e, Different) else f"{type(e).__name__}: {e}"
                print(f"  {case.get('name', '?')}: {what}")
            return
        if verdict is recorded.ELSEWHERE:
            self.elsewhere += 1
        elif verdict is recorded.OUT_OF_DOMAIN:
            self.deviations += 1
        else:
            self.passed += 1
            self.deviations += verdict if isinstance(verdict, int) else 0

    def __str__(self) -> str:
        elsewhere = f" ({self.elsewhere} for the Rust runner)" if self.elsewhere else ""
        return f"{self.passed} passed, {self.failed} failed, {self.deviations} deviations{elsewhere}"


def run_file(path: Path, name: str) -> bool:
    """Whether every case of the file passed."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        kind, cases = document["kind"], document["cases"]
        if not all(isinstance(case, dict) for case in cases):
            raise TypeError("a case that is no object")
        run: Callable[[Case], object] = KINDS.get(kind) or RECORDED[kind]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as e:
        print(f"  cannot be run: {type(e).__name__}: {e}\n{name}: 0 passed, 1 failed, 0 deviations")
        return False
    tally = Tally()
    for case in cases:
        tally.run(run, case)
    print(f"{name}: {tally}")
    return tally.failed == 0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="run.py")
    parser.add_argument("path", type=Path)
    parser.add_argument("--logs", type=int, metavar="COUNT", help="play so many random logs instead")
    parser.add_argument("--relay", type=Path, metavar="LOG", help="go on with a call instead")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    root: Path = options.path
    if options.relay is not None:
        relay.leg(options.relay)
        return 0
    if options.logs is not None:
        print(f"{random_logs.digest(root, options.logs, options.seed):016x}")
        return 0
    others = ("schema.json", random_logs.POLICIES)
    found = (path for path in root.rglob("*.json") if path.name not in others and path.is_file())
    files = sorted(found) if root.is_dir() else [root]
    results = [run_file(path, path.name if path == root else path.relative_to(root).as_posix()) for path in files]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
