"""Random documents and histories, played by the model and by the core: `python against.py COUNT [SEED]`.

The core plays by the program `model` of the crate conformance: a line of JSON with a document and its history in, a line with
its decisions out. Prints the first differences, and exits with 1 if there is any.
"""

import json
import pathlib
import random
import subprocess
import sys

from model import Operation, Policy, Refused, judge

ROOT = pathlib.Path(__file__).resolve().parents[2]
STATUSES = {0: "transient", 409: "permanent", 429: "throttled", 503: "transient", 504: "timeout"}
SPANS = ["0s", "1ns", "10ms", "333ms", "1s", "4s", "30s", "2m"]


def stage(r, rule):
    kind = r.choice(["constant", "exponential", "exponential", "linear", "fibonacci", "polynomial", "list", "decorrelated"])
    fields = {"kind": kind}
    if kind == "list":
        fields = {"delays": r.choices(SPANS, k=r.randint(1, 6))}
    elif r.random() < 0.9:
        fields["initial"] = r.choice(SPANS)
    if kind not in ("constant", "list") and r.random() < 0.5:
        fields["max"] = r.choice(["none", "none", "1m", "5m", "10s" if r.random() < 0.3 else "5m"])
    if kind == "exponential" and r.random() < 0.5:
        fields["factor"] = r.choice([0.5, 1, 1.5, 2, 3.7])
    if kind == "polynomial":
        fields["exponent"] = r.choice([0, 1, 2, 4])
        if r.random() < 0.4:
            fields["from"] = r.randint(0, 3)
    if kind == "linear" and r.random() < 0.5:
        fields["increment"] = r.choice(SPANS)
    if r.random() < 0.2:
        fields["offset"] = r.choice(["1ns", "1s", "15s"])
    if r.random() < 0.2 and kind != "decorrelated":
        fields["floor"] = r.choice(["1s", "4s", "20s"])
    if r.random() < 0.2 and kind != "decorrelated":
        fields["jitter"] = jitter(r)
    if r.random() < 0.1:
        fields["cap"] = cap(r)
    if r.random() < 0.15:
        fields["hint"] = hint(r)
    return fields


def backoff(r, rule=False):
    if r.random() < 0.5:
        fields = stage(r, rule)
        if "delays" not in fields and r.random() < 0.3:
            fields["times"] = r.randint(1, 4)
        if not rule and r.random() < 0.1:
            fields["until"] = r.choice(["10s", "2m"])
        elif r.random() < 0.2:
            fields["repeat"] = True
        return fields
    stages = [stage(r, rule) for _ in range(r.randint(2, 4))]
    late = iter(["5s", "20s", "1m", "10m"])
    for fields in stages[:-1]:
        if "delays" not in fields:
            if not rule and r.random() < 0.5:
                fields["until"] = next(late)
            if "until" not in fields or r.random() < 0.3:
                fields["times"] = r.randint(1, 3)
        elif not rule and r.random() < 0.2:
            fields["until"] = next(late)
    last = stages[-1]
    if not rule and r.random() < 0.2:
        last["until"] = next(late)
    elif r.random() < 0.3:
        if "delays" not in last:
            last["times"] = r.randint(1, 3)
        if r.random() < 0.5:
            last["repeat"] = True
    return stages


def jitter(r):
    return r.choice(
        [
            "none", "full", "equal",
            {"kind": "additive", "factor": 0.5},
            {"kind": "additive", "factor": 3.0},
            {"kind": "proportional", "factor": 0.2},
            {"kind": "subtractive", "factor": 0.4},
            {"kind": "bounded", "bound": "3s"},
            {"kind": "bounded", "bound": "1s", "grows": True},
        ]
    )


def cap(r):
    return r.choice(["keep_spread", "keep_spread", "before_jitter", "clip"])


def hint(r):
    fields = {"mode": r.choice(["floor", "replace", "ignore", "exact", "at_least"])}
    if r.random() < 0.6:
        fields["max"] = r.choice(["none", "10s", "60s"])
    if r.random() < 0.7:
        fields["over"] = r.choice(["stop", "clamp", "ignore"])
    if r.random() < 0.3:
        fields["reach"] = r.choice(["0s", "5s"])
    return fields


def conditions(r):
    fields = {}
    if r.random() < 0.6:
        fields["http"] = r.sample([409, 429, 503, "4xx", "5xx"], r.randint(1, 2))
    if r.random() < 0.3:
        fields["kinds"] = r.sample(["transient", "throttled", "timeout", "permanent"], r.randint(1, 2))
    if r.random() < 0.15:
        fields["codes"] = r.sample(["ECONNRESET", "EPIPE"], r.randint(0, 2))
    if r.random() < 0.15:
        fields["types"] = r.sample(["Late", "Lost"], r.randint(1, 2))
    if r.random() < 0.15:
        fields["patterns"] = r.sample(["lock", "reset", ""], 1)
    if r.random() < 0.25:
        fields["idempotent"] = r.random() < 0.5
    if r.random() < 0.15:
        fields["unsent"] = r.random() < 0.5
    return fields


def rule(r):
    fields = {}
    if r.random() < 0.95:
        fields["if"] = conditions(r) if r.random() < 0.7 else [conditions(r) for _ in range(r.randint(0, 3))]
    if r.random() < 0.6:
        fields["retry"] = r.random() < 0.75
    if fields.get("retry") is False:
        return fields
    if r.random() < 0.5:
        fields["attempts"] = r.choice([1, 3, 5, 9, "forever"])
    if r.random() < 0.5:
        fields["backoff"] = backoff(r, True)
    if r.random() < 0.2:
        fields["jitter"] = jitter(r)
    if r.random() < 0.1:
        fields["cap"] = cap(r)
    if r.random() < 0.2:
        fields["hint"] = hint(r)
    return fields


def document(r):
    fields = {"backoff": backoff(r), "jitter": jitter(r), "cap": cap(r), "hint": hint(r)}
    if r.random() < 0.6:
        fields["attempts"] = r.choice([1, 3, 8, 20, "forever", "forever"])
    if r.random() < 0.5:
        fields["deadline"] = r.choice(["5s", "1m", "10m"])
    for name, share, values in [
        ("limits", 0.2, ["last"]),
        ("deadline_from", 0.25, ["first_failure"]),
        ("delay_from", 0.25, ["start"]),
        ("reset_after", 0.25, ["5s", "35s"]),
        ("abort_at_deadline", 0.2, [False]),
        ("total", 0.15, [1, 4, 9, 20]),
        ("attempt_timeout", 0.3, ["3s", "30s"]),
    ]:
        if r.random() < share:
            fields[name] = r.choice(values)
    if r.random() < 0.3:
        fields["min_attempt"] = r.choice(["1ns", "1s"])
        if r.random() < 0.5:
            fields["on_deadline"] = "clip"
    rules = [rule(r) for _ in range(r.choice([0, 0, 1, 2, 3, 4]))]
    if rules:
        fields["rules"] = rules
    stages = fields["backoff"] if isinstance(fields["backoff"], list) else [fields["backoff"]]
    for one in rules:
        more = one.get("backoff", [])
        stages = stages + (more if isinstance(more, list) else [more])
    if all(one.get("kind") == "decorrelated" for one in stages):
        fields["jitter"] = "none"
    return fields


def facts(r):
    http = r.choice([0, 0, 0, 409, 429, 429, 503, 503, 503, 504])
    kind = STATUSES[http]
    if http == 0:
        kind = r.choice(["transient", "timeout", "throttled", "transient", "transient", "permanent" if r.random() < 0.3 else "timeout"])
    return {
        "http": http,
        "kind": kind,
        "codes": r.choice([[], [], ["ECONNRESET"], ["EPIPE"]]),
        "types": r.choice([[], [], ["Late", "Lost"], ["Lost"]]),
        "message": r.choice(["", "lock timeout", "connection reset"]),
        "idempotent": r.random() < 0.93,
        "unsent": r.random() < 0.2,
        "program_fault": r.random() < 0.03,
        "should_retry": r.choice([None] * 12 + [True, False]),
    }


def history(r, policy):
    """Failures of a call with the model's decisions. Draws are whole numbers of 32 bits."""
    operation, lines, expected = Operation(policy, 10**9), [], []
    now = 10**9
    for _ in range(30):
        abort_at = operation.begin(now)
        took = r.choice([0, 10**8, 10**9, 6 * 10**9, 40 * 10**9])
        failed_at = now + took if abort_at is None else max(now, min(now + took, abort_at))
        known = facts(r)
        hint = r.choice([None, None, None, None, 0, 10**9, 5 * 10**9, 30 * 10**9, 3600 * 10**9 if r.random() < 0.3 else None, "never" if r.random() < 0.1 else None])
        draw = r.choice([0, 2**31, 2**32 - 1, r.randrange(2**32)])
        kind, index = judge(policy, known)
        decision = operation.fail(failed_at, kind, index, hint, lambda: draw / 2**32)
        late = r.choice([0, 0, 0, 1, 10**9, 100 * 10**9])
        lines.append({"now": failed_at, "facts": known, "hint": hint, "draw": draw, "late": late})
        expected.append({"abort_at": abort_at, "rule": 0 if index is None else index + 1, "decision": list(decision)})
        if decision[0] == "stop":
            break
        now = decision[1] + late
        if not operation.wakes_in_time(now):
            expected[-1]["woke"] = False
            break
        expected[-1]["woke"] = True
    return lines, expected


def main():
    count = int(sys.argv[1])
    r = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 7)
    core = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else ROOT / "target" / "debug" / "model"
    cases, refused = [], 0
    while len(cases) < count:
        fields = document(r)
        try:
            policy = Policy(fields)
        except Refused as wrong:
            refused += 1
            cases.append(({"policy": fields, "history": []}, {"refused": str(wrong)}))
            continue
        lines, expected = history(r, policy)
        cases.append(({"policy": fields, "history": lines}, {"steps": expected}))
    text = "\n".join(json.dumps(case[0]) for case in cases)
    done = subprocess.run([str(core)], input=text, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != len(cases):
        raise SystemExit(f"{len(cases)} cases, {len(answers)} answers")
    wrong, decisions, full = 0, 0, 0
    for (case, expected), got in zip(cases, answers):
        if got.get("refused") in ("too_many_stages", "too_many_rules"):
            full += 1
            continue
        decisions += len(case["history"])
        if ("refused" in expected) != ("refused" in got) or expected.get("steps") != got.get("steps"):
            wrong += 1
            if wrong <= 3:
                print(json.dumps(case["policy"]))
                if expected.get("steps") and got.get("steps"):
                    for line, a, b in zip(case["history"], expected["steps"], got["steps"]):
                        print("  ", json.dumps(line), "\n     model", json.dumps(a), "\n     core ", json.dumps(b))
                        if a != b:
                            break
                else:
                    print("   model", json.dumps(expected)[:300], "\n   core ", json.dumps(got)[:300])
    print(f"{len(cases)} documents ({refused} refused, {full} without room), {decisions} decisions, {wrong} differ")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
