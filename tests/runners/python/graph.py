"""langgraphgo's graph-level retry: on the loop machine, on the layered one if a node retries by itself, on schedules.

The graph is the host: which node runs after which, the context that is looked at in waits alone, and errors in its
words. A recording gives the results of nodes but not the edges; the ones it needs are told from its error.
"""

from __future__ import annotations

from typing import Any

from holdoff import ConfigError, Failure, Policy
from holdoff.machines import Call, Layered, Layers, Schedule
from recorded import LONGEST, OUT_OF_DOMAIN, Case, Different, Node, Verdict, node_policy, refusal, same, steps, whole


def graph(case: Case) -> Verdict:
    op = case["config"]["op"]
    if op == "calculateBackoffDelay":
        return delays(case)
    if op == "executeNodeWithRetry":
        return execute(case)
    if op == "Invoke":
        return invoke(case)
    raise Different(f"an unknown operation: {op!r}")


def policy(config: Case) -> Policy | ConfigError:
    """A graph's `RetryPolicy`, of which none is one try. An unknown strategy is the fixed one."""
    strategy = config.get("strategy")
    backoff: Case = {"kind": "constant", "delay": "1s"}
    if strategy == "exponential":
        backoff = {"initial": "1s", "factor": 2, "max": "none"}
    elif strategy == "linear":
        backoff = {"kind": "linear", "initial": "1s", "increment": "1s", "max": "none"}
    tries = whole(config, "max_retries") + 1
    rules: list[Case] = [
        {"if": {"patterns": config.get("retryable_errors") or []}, "retry": True},
        {"if": {}, "retry": False},
    ]
    attempts = "forever" if tries > 2**32 - 1 else tries
    return refusal(
        lambda: Policy.from_dict({"backoff": backoff, "jitter": "none", "attempts": attempts, "rules": rules})
    )


def refused(config: Case, error: ConfigError) -> Verdict:
    """Fewer than no retries are no attempt at all, which the original takes for a success and we refuse."""
    if whole(config, "max_retries") < 0 and error.name == "attempts_range":
        return OUT_OF_DOMAIN
    raise Different(f"the policy is refused: {error}")


def delays(case: Case) -> Verdict:
    """`calculateBackoffDelay`: where the original wraps, ours saturates."""
    made = policy({"strategy": case["config"].get("strategy"), "max_retries": 1})
    if isinstance(made, ConfigError):
        raise made
    deviations = 0
    for at, (attempt, expected) in steps(case):
        delay = Schedule.base_at(made, attempt)
        if delay == LONGEST and expected != delay:
            deviations += 1
        else:
            same(at, "delay", expected, delay)
    return deviations


WRAPS = 2**33 * 10**9
"""The longest exponential wait that is one in the original."""


def value(result: str) -> bool:
    """True for what is no error."""
    return result == "ok" or result.startswith("goto:")


def retried(made: Policy, node: Node) -> tuple[str, bool]:
    """A node under the graph's policy: its last result, and whether the context ended in a wait."""
    last = ""
    call, step = Call.begin(made, 0, node.now)
    while True:
        ticket = step.ticket
        if ticket is not None:
            last = node.call()
            if value(last):
                step = call.succeed(ticket, node.now)
            else:
                step = call.fail(made, ticket, node.now, made.judge(Failure("transient"), message=last))
        elif step.until is not None:
            if node.wait(step.until):
                call.cancel(node.now)
                return last, True
            step = call.tick(made, node.now)
        elif step.outcome in ("succeeded", "gave_up"):
            return last, False
        else:
            raise Different(f"unexpected: {step!r}")


def execute(case: Case) -> Verdict:
    config, expected = case["config"], case["expected"][0]
    made = policy(config.get("policy") or {})
    if isinstance(made, ConfigError):
        return refused(config["policy"], made)
    node = Node(case)
    last, cancelled = retried(made, node)
    got: Case
    if cancelled:
        error = "context deadline exceeded" if node.deadline else "context canceled"
        ended = node.failed(error, error)
        got = {**ended, "unwraps_to": None, "is_canceled": not node.deadline, "is_deadline": node.deadline}
    elif value(last):
        got = {"calls": node.calls, "delays": node.delays, "now": node.now, "error": None, "value": "s!"}
    else:
        got = {**node.failed(last, last), "unwraps_to": None}
    last_wait = next((at for at, delay in enumerate(node.delays) if delay >= WRAPS), None)
    if last_wait is not None and expected != got:
        # A run that leaves the range of an integer is the same up to there, and has as many calls.
        same(0, "waits", expected["delays"][: last_wait + 1], node.delays[: last_wait + 1])
        if node.ends == float("inf"):
            same(0, "end", (expected["calls"], expected["error"]), (got["calls"], got["error"]))
        return 1
    same(0, "execution", expected, got)
    return 0


class Inner(Node):
    """A node of a graph, which may retry by itself."""

    def __init__(self, case: Case, name: str, script: list[Case], now: int) -> None:
        super().__init__({"config": case["config"], "inputs": script})
        self.name, self.now = name, now

    def layered(self, made: Policy, config: Case) -> str:
        """A `RetryNode` under the graph's policy, which judges the text of the error that the node returns."""
        inner, self.config, self.ends = node_policy(config), config, float("inf")
        layers = Layers(made, inner)
        call, step = Layered.begin(layers, 0, self.now)
        last = ""
        while True:
            ticket = step.ticket
            if ticket is not None:
                result = self.call()
                if value(result):
                    last = result
                    step = call.succeed(ticket, self.now)
                    continue
                failure = Failure(self.kind(result))
                reason = call.would_give_up(layers, ticket, self.now, failure)
                outward = None
                if reason is not None:
                    attempts = 3 if config.get("config_nil") else config["max_attempts"]
                    last = f"max retries ({attempts}) exceeded for {self.name}: {result}"
                    if reason == "permanent":
                        last = f"non-retryable error in {self.name}: {result}"
                    outward = made.judge(Failure("transient"), message=last)
                step = call.fail(layers, ticket, self.now, failure, outward=outward)
            elif step.until is not None:
                self.wait(step.until)
                step = call.tick(layers, self.now)
            elif step.outcome in ("succeeded", "gave_up"):
                return last
            else:
                raise Different(f"unexpected: {step!r}")


class Graph:
    """A graph of scripted nodes, which runs step by step: all active nodes at once, until the last of them ends."""

    def __init__(self, case: Case, made: Policy) -> None:
        self.case, self.config, self.made = case, case["config"], made
        self.scripts: dict[str, list[Case]] = self.config["nodes"]
        error = case["expected"][0].get("error") or ""
        self.loose = error.removeprefix("no outgoing edge found for node: ") if "no outgoing" in error else None
        self.missing = error.removeprefix("node not found: ") if "node not found" in error else None
        self.nodes: dict[str, Inner] = {}

    def entry(self) -> str:
        """The node where it starts: the one that says where to go on, else the first."""
        goes = (
            name for name, script in self.scripts.items() if any(call["result"].startswith("goto:") for call in script)
        )
        return next(goes, next(iter(self.scripts)))

    def after(self, name: str, commanded: bool) -> str | None:
        """The node after another in a chain, which a graph without commands is."""
        names = list(self.scripts)
        later = [] if commanded else names[names.index(name) + 1 :]
        return later[0] if later else self.missing

    def node(self, name: str, now: int) -> tuple[str, bool]:
        if name not in self.nodes:
            self.nodes[name] = Inner(self.case, name, self.scripts[name], now)
        node = self.nodes[name]
        node.now = now
        config = self.own(name)
        return (node.layered(self.made, config), False) if config is not None else retried(self.made, node)

    def own(self, name: str) -> Case | None:
        """The `RetryConfig` of a node: any object of the configuration that is one, for all nodes or by its name."""
        objects: list[Case] = [known for known in self.config.values() if isinstance(known, dict)]
        inner: list[Case] = [of[name] for of in objects if isinstance(of.get(name), dict)]
        return next((one for one in objects + inner if one.get("max_attempts") is not None), None)

    def run(self) -> Case:
        now, active, commanded, state = 0, [self.entry()], False, "<nil>"
        error: str | None = None
        while error is None and active:
            ends, commands, following = now, list[str](), list[str]()
            for name in active:
                if name not in self.scripts:
                    error = error or f"node not found: {name}"
                    continue
                last, cancelled = self.node(name, now)
                if cancelled:
                    ended = "deadline exceeded" if self.config.get("cancel_is_deadline") else "canceled"
                    error = error or f"error in node {name}: context {ended}"
                elif value(last):
                    state = name
                    goes = last.removeprefix("goto:").split(",") if last != "ok" else []
                    commands += dict.fromkeys(to for to in goes if to != "END")
                    following.append(name)
                else:
                    error = error or f"error in node {name}: {last}"
                ends = max(ends, self.nodes[name].now)
            now, active, commanded = ends, commands, commanded or bool(commands)
            if not active and error is None:
                for name in following:
                    if name == self.loose:
                        error = f"no outgoing edge found for node: {name}"
                        break
                    to = self.after(name, commanded)
                    active += [] if to is None else [to]
        calls = {name: node.calls for name, node in self.nodes.items()}
        waits = sorted(delay for node in self.nodes.values() for delay in node.delays)
        got: dict[str, Any] = {"calls": calls, "delays_sorted": waits, "error": error, "state": state}
        return got if error is None else {**got, "is_graph_interrupt": False, "state": "<nil>"}


def invoke(case: Case) -> Verdict:
    expected = case["expected"][0]
    if "compile_error" in expected:
        # A graph without an entry is refused before any node runs.
        same(0, "the error", "entry point not set", expected["compile_error"])
        return 0
    made = policy(case["config"].get("policy") or {})
    if isinstance(made, ConfigError):
        return refused(case["config"]["policy"], made)
    same(0, "the graph", expected, Graph(case, made).run())
    return 0
