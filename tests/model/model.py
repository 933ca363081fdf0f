"""The rules of docs/spec.md for one operation, once more, in Python: a second opinion to hold the core against.

It shares no code and no tables with the core. It knows the parts that rules, stages and limits have made intricate: sections
3 to 9, without guards. All times are whole nanoseconds; `u` is the draw of a failure.
"""

import math
from fractions import Fraction

LONGEST = 2**63 - 1
LARGEST = 2**64 - 1
FOREVER = math.inf
UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}


class Refused(Exception):
    """A document that is no policy, with the field that is wrong."""


def span(text, none=LONGEST):
    """A time as a document has it (1.7)."""
    if text == "none":
        return none
    digits = text.rstrip("nusmh")
    return int(Fraction(digits) * UNITS[text[len(digits) :]])


def trunc(number):
    """`trunc` of a double into the range of a span."""
    if number != number:
        return 0
    return max(0, min(int(number), LONGEST) if number < 2.0**63 else LONGEST)


def capped(number):
    return min(number, LARGEST)


class Stage:
    """One stage of a backoff (4)."""

    def __init__(self, fields):
        self.kind = fields.get("kind", "list" if "delays" in fields else "exponential")
        self.delays = [span(delay) for delay in fields.get("delays", [])]
        self.times = len(self.delays) or fields.get("times", 0)
        first = fields.get("initial", fields.get("delay"))
        self.initial = span(first if first is not None else "100ms")
        usual = max(5 * 10**9, min(10 * self.initial, LONGEST) if first is not None else 0)
        unbounded = self.kind in ("constant", "list")
        self.max = LONGEST if unbounded else span(fields["max"]) if "max" in fields else usual
        self.factor = float(fields.get("factor", 3.0 if self.kind == "decorrelated" else 2.0))
        self.exponent = float(fields.get("exponent", 2.0))
        self.increment = span(fields["increment"]) if "increment" in fields else self.initial
        self.index = fields.get("from", 1)
        self.floor = span(fields.get("floor", "0s"))
        self.offset = span(fields.get("offset", "0s"))
        self.until = span(fields["until"]) if "until" in fields else None
        self.repeat = fields.get("repeat", False)
        self.jitter = jitter_of(fields["jitter"]) if "jitter" in fields else None
        self.cap = fields.get("cap")
        self.hint = hint_of(fields["hint"]) if "hint" in fields else None
        self.random = self.kind == "decorrelated"
        clips = self.cap
        if self.floor > self.max:
            raise Refused("floor")
        if self.offset and self.offset >= self.max:
            raise Refused("offset")
        if not unbounded and self.max < self.initial and (self.random or clips not in ("clip",)):
            self.too_short = True
        else:
            self.too_short = False


def jitter_of(value):
    fields = {"kind": value} if isinstance(value, str) else value
    return {
        "kind": fields["kind"],
        "factor": float(fields.get("factor", 0.0)),
        "bound": span(fields["bound"]) if "bound" in fields else 0,
        "grows": fields.get("grows", False),
    }


def hint_of(value):
    fields = {"mode": value} if isinstance(value, str) else value
    return {
        "mode": fields.get("mode", "floor"),
        "max": span(fields.get("max", "60s")),
        "over": fields.get("over", "stop"),
        "reach": span(fields["reach"], LARGEST) if "reach" in fields else LARGEST,
    }


def stages_of(value, cap, rule):
    """The stages of a backoff, and the rules between them (3.5, 4.9 and 4.12)."""
    stages = [Stage(fields) for fields in (value if isinstance(value, list) else [value])]
    latest, timed = 0, False
    for place, stage in enumerate(stages):
        last = place == len(stages) - 1
        if stage.too_short and not ((stage.cap or cap) == "clip" and not stage.random):
            raise Refused("max")
        if not last and not stage.times and stage.until is None:
            raise Refused("times")
        if stage.repeat and (not last or not stage.times):
            raise Refused("repeat")
        if stage.until is not None and (rule or stage.until <= latest):
            raise Refused("until")
        if stage.repeat and (timed or stage.until is not None):
            raise Refused("until")
        if stage.until is not None:
            latest, timed = stage.until, True
    return stages


def end_of(stages):
    """How many delays a backoff has: None if it goes on, FOREVER if a time or a repetition decides."""
    if any(stage.until is not None or stage.repeat for stage in stages):
        return FOREVER
    return sum(stage.times for stage in stages) if stages[-1].times else None


class Rule:
    """One rule (8)."""

    def __init__(self, fields, cap):
        conditions = fields.get("if", {})
        self.alternatives = conditions if isinstance(conditions, list) else [conditions]
        self.retry = fields.get("retry")
        self.cap = fields.get("cap")
        self.stages = stages_of(fields["backoff"], self.cap or cap, True) if "backoff" in fields else None
        self.jitter = jitter_of(fields["jitter"]) if "jitter" in fields else None
        self.hint = hint_of(fields["hint"]) if "hint" in fields else None
        attempts = fields.get("attempts")
        if attempts is None and self.stages:
            delays = end_of(self.stages)
            attempts = None if delays in (None, FOREVER) else delays + 1
        self.limit = FOREVER if attempts == "forever" else attempts
        if self.retry is False and any(name in fields for name in ("attempts", "backoff", "jitter", "cap", "hint")):
            raise Refused("retry")


class Policy:
    """A policy document (3)."""

    def __init__(self, document):
        self.cap = document.get("cap", "keep_spread")
        self.stages = stages_of(document.get("backoff", {}), self.cap, False)
        self.jitter = jitter_of(document.get("jitter", "full"))
        self.hint = hint_of(document.get("hint", {}))
        self.deadline = span(document["deadline"]) if document.get("deadline", "none") != "none" else None
        attempts = document.get("attempts")
        if attempts is None:
            delays = end_of(self.stages)
            if delays is not None and delays != FOREVER:
                attempts = delays + 1
            else:
                attempts = "forever" if delays == FOREVER or self.deadline is not None else 3
        self.attempts = FOREVER if attempts == "forever" else attempts
        self.total = document.get("total", FOREVER)
        self.min_attempt = span(document.get("min_attempt", "0s"))
        self.on_deadline = document.get("on_deadline", "stop")
        self.limits = document.get("limits", "first")
        self.deadline_from = document.get("deadline_from", "start")
        self.delay_from = document.get("delay_from", "failure")
        self.aborts = document.get("abort_at_deadline", True)
        self.reset_after = span(document["reset_after"]) if "reset_after" in document else None
        self.attempt_timeout = span(document["attempt_timeout"]) if "attempt_timeout" in document else None
        self.rules = [Rule(fields, self.cap) for fields in document.get("rules", [])]
        if self.deadline is not None and self.min_attempt >= self.deadline:
            raise Refused("min_attempt")
        if self.limits == "last" and (
            self.deadline is None or self.attempts == FOREVER or self.on_deadline == "clip"
        ):
            raise Refused("limits")
        limits = [self.attempts] + [rule.limit for rule in self.rules if rule.limit is not None]
        self.most = min(self.total, 1 + sum(limit - 1 for limit in limits))
        self.timed = any(stage.until is not None for stage in self.stages)


def holds(conditions, facts):
    """True if all conditions of an alternative hold (8.4)."""
    checks = {
        "http": lambda listed: any(
            entry == facts["http"] or isinstance(entry, str) and entry[0] == str(facts["http"])[:1] and facts["http"]
            for entry in listed
        ),
        "kinds": lambda listed: facts["kind"] in listed,
        "codes": lambda listed: bool(set(listed) & set(facts["codes"])),
        "types": lambda listed: bool(set(listed) & set(facts["types"])),
        "patterns": lambda listed: any(text in facts["message"] for text in listed),
        "idempotent": lambda value: facts["idempotent"] == value,
        "unsent": lambda value: facts["unsent"] == value,
    }
    return all(checks[name](value) for name, value in conditions.items())


def judge(policy, facts):
    """The kind of a failure and the index of the rule that takes it (8.5 to 8.8)."""
    facts, own = dict(facts), facts["program_fault"]
    if not own and facts["should_retry"] is False:
        return "permanent", None
    if not own and facts["should_retry"] is True and facts["kind"] == "permanent":
        facts["kind"] = "transient"
    kind = facts["kind"]
    safe = facts["idempotent"] or facts["unsent"] or facts["http"] == 425 or kind == "throttled"
    for index, rule in enumerate(policy.rules):
        held = [one for one in rule.alternatives if holds(one, facts) and (not own or "types" in one)]
        if not held:
            continue
        if rule.retry is False or own and not rule.retry:
            return "permanent", index
        if not safe and not any("idempotent" in one for one in held):
            return "permanent", index
        return ("transient" if rule.retry and (kind == "permanent" or own) else kind), index
    return ("permanent" if own or not safe else kind), None


class Operation:
    """The state of one operation, as plain as can be: nothing is packed, and all failures are remembered."""

    def __init__(self, policy, started):
        self.policy = policy
        self.started = started
        self.now = started
        self.began = started
        self.own = 0
        self.counts = [0] * len(policy.rules)
        self.delays = 0
        self.stage = 0
        self.in_stage = 0
        self.base = None
        self.source = None
        self.binding = False

    def begin(self, now):
        """An attempt begins. Returns when it is aborted, None for never (6.6)."""
        self.now = max(self.now, now)
        self.began = self.now
        policy, ends = self.policy, []
        if policy.attempt_timeout is not None:
            ends.append(self.began + policy.attempt_timeout)
        if policy.deadline is not None and policy.aborts and policy.limits == "first":
            end = self.started + policy.deadline
            waits = policy.deadline_from == "first_failure" and not self.failed()
            resets = policy.reset_after is not None and end >= self.began + policy.reset_after
            if not waits and not resets:
                ends.append(end)
        return min(ends) if ends else None

    def failed(self):
        return self.own + sum(self.counts)

    def wakes_in_time(self, now):
        """False if the deadline is over when a sleep ends (6.4)."""
        policy = self.policy
        if policy.deadline is None or policy.limits == "last" and not self.binding:
            return True
        return now < self.started + policy.deadline

    def fail(self, now, kind, rule_index, hint, draw):
        """The decision about a failure (9.1): ("sleep", until, cause) or ("stop", reason, retry_at)."""
        policy = self.policy
        self.now = now = max(self.now, now)
        took = now - self.began
        if policy.reset_after is not None and took >= policy.reset_after:
            self.own, self.counts, self.delays = 0, [0] * len(policy.rules), 0
            self.stage = self.in_stage = 0
            self.base = self.source = None
            self.started = now
        if policy.deadline_from == "first_failure" and not self.failed():
            self.started = now
        rule = policy.rules[rule_index] if rule_index is not None else None
        counted = rule is not None and rule.limit is not None
        if counted:
            self.counts[rule_index] = min(self.counts[rule_index] + 1, 65535)
            count, limit = self.counts[rule_index], rule.limit
        else:
            self.own += 1
            count, limit = self.own, policy.attempts
        if kind == "permanent" or hint == "never" and policy.hint["mode"] != "ignore":
            return "stop", "permanent", None
        spent = count >= limit
        if self.failed() >= policy.total or spent and policy.limits != "last":
            return "stop", "attempts", None
        self.binding = spent
        found = self.place(rule, rule_index, counted, count, now)
        if found is None:
            return "stop", "deadline", None
        stage, n, over, source = found
        use = {}
        for name in ("jitter", "cap", "hint"):
            if rule is not None and rule.stages:
                order = [getattr(stage, name), getattr(rule, name)]
            else:
                order = [getattr(rule, name) if rule is not None else None, getattr(stage, name)]
            use[name] = next((one for one in order if one is not None), getattr(policy, name))
        obeyed = use["hint"]
        asked = hint if isinstance(hint, int) and obeyed["mode"] != "ignore" else None
        if asked is not None and obeyed["over"] == "ignore" and (asked == 0 or asked > obeyed["max"]):
            asked = None
        if asked is not None and asked > obeyed["max"]:
            if obeyed["over"] == "stop":
                return "stop", "hint", now + asked
            asked = obeyed["max"]
        drawn = stage.random or use["jitter"]["kind"] != "none"
        u = draw() if drawn else 0.0
        fresh = self.base is None or self.source != source
        value, low, high = self.delay(stage, n, over, fresh, use["jitter"], use["cap"], u)
        self.source = source
        if not (counted and rule.stages):
            self.delays += 1
            self.in_stage += 1
        if policy.delay_from == "start":
            value, low, high = (max(0, end - took) for end in (value, low, high))
        width, delay, cause = high - low, value, "backoff"
        limit_of_hint = None
        if asked is not None:
            mode = obeyed["mode"]
            if mode == "replace":
                delay, cause = asked + trunc(u * width), "hint"
            elif mode == "exact":
                delay, cause = asked, "hint"
            elif mode == "at_least" and asked > value:
                delay, cause = asked, "hint"
            elif mode == "floor" and asked > low:
                delay, cause = value + (asked - low), "hint"
            floor = min(value, 10**9) if policy.most > 10 and mode in ("replace", "exact") else 0
            if delay < floor:
                delay, cause = floor, "backoff"
            furthest = value + obeyed["reach"]
            delay = min(delay, furthest)
            limit_of_hint = min(asked, furthest)
        until = now + delay
        if policy.deadline is not None and (policy.limits == "first" or spent):
            end = self.started + policy.deadline
            if not (until < end and until <= end - policy.min_attempt):
                last = end - policy.min_attempt
                earliest = now if limit_of_hint is None else now + limit_of_hint
                if policy.on_deadline == "clip" and now < last < end and earliest <= last:
                    until, cause = last, "clip"
                elif policy.limits == "last" and count == limit:
                    return "stop", "attempts", None
                else:
                    return "stop", "deadline", until
        self.began = until
        return "sleep", until, cause

    def place(self, rule, rule_index, counted, count, now):
        """The stage of the delay, which delay of it, whether it is used up, and a name for the stage (4.9, 4.12, 8.9)."""
        policy = self.policy
        if rule is not None and rule.stages:
            if counted:
                n = count - 1
            elif policy.timed:
                shared = sum(c for c, one in zip(self.counts, policy.rules) if one.limit is not None and not one.stages)
                n = self.own + shared - 1
            else:
                n = self.delays
            stage, place, n, over = walk(rule.stages, n)
            return stage, n, over, (rule_index, place)
        if not policy.timed:
            stage, place, n, over = walk(policy.stages, self.delays)
            return stage, n, over, (None, place)
        while True:
            stage = policy.stages[self.stage]
            used = bool(stage.times) and self.in_stage >= stage.times
            late = stage.until is not None and now - self.started >= stage.until
            if not used and not late:
                return stage, self.in_stage, False, (None, self.stage)
            if self.stage == len(policy.stages) - 1:
                if stage.until is not None:
                    return None
                n = self.in_stage if stage.random else stage.times - 1
                return stage, n, True, (None, self.stage)
            self.in_stage = self.in_stage - stage.times if used else 0
            self.stage += 1

    def delay(self, stage, n, over, fresh, jitter, cap, u):
        """A delay and the ends of its range (4, 5)."""
        limit = LONGEST if cap == "clip" else stage.max
        if stage.random:
            fresh = fresh or n == 0 and not over
            previous = stage.initial if fresh else self.base
            grown = trunc(float(previous) * stage.factor)
            high = max(stage.initial, grown if cap == "clip" else min(grown, stage.max))
            value = min(stage.initial + trunc(u * float(high - stage.initial)), stage.max)
            self.base = value
            ends = value, stage.initial, max(stage.initial, min(high, stage.max))
        else:
            self.base = base(stage, n, limit)
            d = self.base if cap == "clip" else min(self.base, stage.max)
            ends = spread(jitter, n, d, u)
        value, low, high = (capped(end + stage.offset) for end in ends)
        longest = stage.max
        if cap == "keep_spread" and high - low > longest:
            value, low, high = trunc(u * float(longest)), 0, longest
        elif cap == "keep_spread":
            excess = max(0, high - longest)
            value, low, high = max(0, value - excess), max(0, low - excess), high - excess
        else:
            longest = longest if cap == "clip" else LONGEST
            value, low, high = min(value, longest), min(low, longest), min(high, longest)
        if low < stage.floor:
            low, high = stage.floor, max(high, stage.floor)
            value = low + trunc(u * float(high - low))
        return value, low, high


def walk(stages, n):
    """The stage of delay `n` where stages end by their numbers of delays alone."""
    period = sum(stage.times for stage in stages)
    if stages[-1].repeat and period:
        n %= period
    for place, stage in enumerate(stages):
        if not stage.times or n < stage.times:
            return stage, place, n, False
        if place == len(stages) - 1:
            return stage, place, n if stage.random else stage.times - 1, True
        n -= stage.times
    raise AssertionError("a backoff has a stage")


def base(stage, n, limit):
    """Base delay `n` of a stage (4.2 to 4.6)."""
    first = stage.initial
    if stage.kind == "constant":
        return first
    if stage.kind == "list":
        return stage.delays[min(n, len(stage.delays) - 1)]
    if stage.kind == "linear":
        return first if n == 0 else min(capped(first + capped(stage.increment * n)), limit)
    if stage.kind == "polynomial":
        return min(trunc(float(first) * math.pow(float(n) + stage.index, stage.exponent)), max(limit, first))
    if stage.kind == "fibonacci":
        before, number = 0, first
        for _ in range(min(n, 93)):
            before, number = number, capped(number + before)
        return min(number, max(limit, first))
    delay = first
    for _ in range(min(n, 65536)):
        grown = min(trunc(float(delay) * stage.factor), limit)
        if grown == delay:
            break
        delay = grown
    return delay


def spread(jitter, n, d, u):
    """The jittered delay and the ends of its range (5.2)."""
    kind, factor, double = jitter["kind"], jitter["factor"], float(d)
    if kind == "full":
        return trunc(u * double), 0, d
    if kind == "equal":
        half = d // 2
        return half + trunc(u * float(d - half)), half, d
    if kind == "additive":
        return capped(d + trunc((u * factor) * double)), d, capped(d + trunc(factor * double))
    if kind == "proportional":
        reach = double * factor
        return tuple(max(0, d + int(by)) for by in (reach * (2.0 * u - 1.0), -reach, reach))
    if kind == "bounded":
        bound = jitter["bound"]
        if jitter["grows"]:
            bound = min(bound * (n + 1), LONGEST)
        return capped(d + trunc(u * float(bound))), d, capped(d + bound)
    if kind == "subtractive":
        return max(0, d - trunc((u * factor) * double)), max(0, d - trunc(factor * double)), d
    return d, d, d
