"""Presets, chains, documents and the forms of other systems."""

from __future__ import annotations

import copy
import json
import pickle
from datetime import timedelta
from typing import Any, get_args

import holdoff
import holdoff.machines
import pytest
from holdoff import ConfigError, Policy
from holdoff.explain import lint_nested
from holdoff.testing import pinned
from holdoff.types import FormName, PresetName
from hypothesis import example, given, strategies as st

CHAIN: list[Any] = [{"kind": "constant", "delay": "1s", "times": 1}, {"initial": "2s", "factor": 3, "max": "1m"}]
SECOND = 1_000_000_000


def test_a_chain_is_stages_one_after_the_other() -> None:
    policy = Policy(backoff=CHAIN, jitter="none", attempts=6)
    assert list(holdoff.machines.Schedule(policy, 0)) == [second * SECOND for second in (1, 2, 6, 18, 54)]
    assert policy == Policy(backoff=tuple(CHAIN), jitter="none", attempts=6)


def test_a_list_of_delays_says_how_many_attempts_there_are() -> None:
    policy = Policy(backoff={"delays": [1, "2s", 0.5]}, jitter="none")
    assert list(holdoff.machines.Schedule(policy, 0)) == [SECOND, 2 * SECOND, SECOND // 2]


@given(st.floats(0, 1))
@example(0.40164962844290253)
def test_the_numbers_of_a_document_are_read_exactly(factor: float) -> None:
    fields: Any = {"jitter": {"kind": "subtractive", "factor": factor}}
    assert Policy.from_json(json.dumps(fields)) == Policy(**fields)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            {"backoff": [{"times": 1}, {"max": "x"}]},
            'backoff[1].max = \'x\': must be a time from 0 to 292 years with its unit, such as "250ms", "1.5s" or "2m"',
        ),
        ({"backoff": [{"kind": "constant", "delay": 1}, {}]}, "backoff[0].times: is needed by each stage but the last"),
        ({"backoff": [{}, {"maxx": 1}]}, "backoff[1].maxx = 1: is not a field of a policy; did you mean"),
        ({"backoff": [{"delay": 9, "max": 7}]}, "backoff[0].max = 7: must not be below the stage's initial delay"),
        ({"backoff": {"delays": []}}, "backoff.delays = []: must list at least one delay"),
        ({"backoff": {"delays": [1, "no"]}}, "backoff.delays[1] = 'no': must be a time"),
        ({"attempts": [3]}, "attempts = 3: must be a whole number"),
        ({"rules": [{"if": {"http": [99]}}]}, "rules[0].if.http[0] = 99: must be a status from 100 to 599"),
        (
            {"rules": [{"if": [{}, {"grpc": ["UNAVAILABEL"]}]}]},
            "rules[0].if[1].grpc[0] = 'UNAVAILABEL': must be a gRPC code from 0",
        ),
        ({"rules": [{"if": {"patterns": "timeout"}}]}, "rules[0].if.patterns = 'timeout': must be a list"),
        ({"rules": [{"retry": 1}]}, "rules[0].retry = 1: must be true or false"),
        ({"rules": [{"retries": 1}]}, "rules[0].retries = 1: "),
        ({"retry_on": {"http": [503]}}, 'retry_on.http[0] = 503: is a rule: "rules": [{"if": {"http": [...]}'),
        ({"preset": "kubernets"}, "preset = 'kubernets': must be one of default, langgraphgo"),
    ],
)
def test_a_mistake_in_a_list_is_told_with_its_index(fields: Any, text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Policy(**fields)
    assert str(raised.value).startswith(text)


def test_a_first_delay_alone_moves_the_longest() -> None:
    assert Policy(backoff={"initial": "10s"}) == Policy(backoff={"initial": 10, "max": 100})
    assert Policy(backoff={"initial": "10ms"}) == Policy(backoff={"initial": "10ms", "max": "5s"})


def test_presets_are_policies_by_name() -> None:
    for name, source in holdoff.presets().items():
        assert source
        policy = Policy(name)
        assert policy == Policy(preset=name) == Policy.from_json(policy.to_json()) == eval(repr(policy))
        assert str(policy.explain()).count("\n") > 3
        assert holdoff.retry(policy=name)(lambda: 1)() == 1
        with next(iter(holdoff.attempts(name))) as attempt:
            assert attempt.number == 1
    assert list(holdoff.presets()) == holdoff._holdoff.preset_names() == list(get_args(PresetName))
    assert Policy("default") == Policy()


def test_other_fields_start_from_the_preset() -> None:
    policy = Policy("kubernetes", attempts=9)
    assert list(pinned(policy, 0))[:4] == [10_000_000, 50_000_000, 250_000_000, 1_250_000_000]
    assert policy == Policy(preset="kubernetes", attempts=9)


def test_a_raw_machine_takes_the_name_of_a_preset() -> None:
    assert holdoff.machines.Schedule.base_at("temporal", 3) == 8 * SECOND
    call, _ = holdoff.machines.Call.begin("temporal", 0, 0)
    assert call.fail("temporal", 1, 0, holdoff.Failure()).until == SECOND


def test_a_policy_that_is_no_preset_is_refused() -> None:
    unknown: Any = "kubernets"
    for use in (lambda: Policy(unknown), lambda: holdoff.retry(policy=unknown), lambda: holdoff.attempts(unknown)):
        with pytest.raises(ConfigError, match='did you mean "kubernetes"'):
            use()
    wrong: Any = 5
    with pytest.raises(TypeError):
        Policy(wrong)


def test_equal_policies_have_equal_hashes() -> None:
    assert len({Policy(), Policy("default"), Policy(attempts=3), Policy(attempts=4)}) == 2
    assert Policy().fingerprint == Policy("default").fingerprint != Policy(attempts=4).fingerprint
    assert Policy() != Policy(rules=[{"if": {"http": [503]}, "retry": True}])


DOCUMENT = """{
  "version": 1,
  "backoff": [{"kind": "constant", "delay": "1s", "times": 2}, {"initial": "2s", "max": "1m"}],
  "jitter": {"kind": "proportional", "factor": 0.25}, "attempts": 7, "deadline": "2m",
  "hint": {"mode": "at_least", "reach": "5s"},
  "rules": [
    {"if": {"types": ["CardDeclined"]}, "retry": false},
    {"if": [{"http": [408, "5xx"]}, {"grpc": [14, "aborted"]}, {"patterns": ["reset", "é"], "codes": ["40001"]}],
     "retry": true, "attempts": 9, "backoff": {"initial": "5s", "max": "1m"}, "jitter": "none", "hint": "exact"},
    {"if": {"idempotent": false, "kinds": []}}
  ]
}"""


def test_a_document_is_read_from_text_or_from_what_it_is_parsed_to() -> None:
    policy = Policy.from_json(DOCUMENT)
    assert policy == Policy.from_json(DOCUMENT.encode()) == Policy.from_dict(json.loads(DOCUMENT))
    assert policy == Policy.from_json(policy.to_json()) == Policy.from_dict(policy.to_dict())
    assert policy == eval(repr(policy)) == pickle.loads(pickle.dumps(policy)) == copy.deepcopy(policy)
    assert json.loads(policy.to_json()) == policy.to_dict()
    assert policy.to_dict()["rules"][0] == {"if": {"types": ["CardDeclined"]}, "retry": False}
    assert policy.to_dict()["rules"][2] == {"if": {"kinds": [], "idempotent": False}}


def test_the_lists_of_earlier_drafts_are_told_as_the_rule_to_write() -> None:
    with pytest.raises(ConfigError) as raised:
        Policy.from_json('{"retry_on": {"http": [408, "5xx"], "patterns": ["reset"]}}')
    assert (raised.value.code, raised.value.name) == (183, "replaced")
    assert str(raised.value).startswith(
        'retry_on.http[0] = 408: is a rule: "rules": [{"if": {"http": [...]}, "retry": true}'
    )


@pytest.mark.parametrize(
    ("text", "name", "path"),
    [
        ("", "not_json", ""),
        ("{", "not_json", ""),
        ("{} {}", "not_json", ""),
        # A text that is no JSON is refused as a whole, whatever is wrong before that place.
        ('{"attempts": 0, ', "not_json", ""),
        ('{"deadline": NaN}', "not_json", ""),
        ("\ud800", "not_json", ""),
        (b"\xff", "not_json", ""),
        ("[]", "not_an_object", ""),
        ("7", "not_an_object", ""),
        ('{"attempts": 3, "attempts": 4}', "twice", "attempts"),
        ('{"deadline": 30}', "not_a_duration", "deadline"),
        ('{"backoff": {"initial": 0.1}}', "not_a_duration", "backoff.initial"),
        ('{"version": 2}', "document_version", "version"),
        ('{"atempts": 3}', "unknown_field", "atempts"),
        ('{"backoff": [{"times": 1}, {"max": "1x"}]}', "not_a_duration", "backoff[1].max"),
        ('{"rules": [{"if": {"kinds": ["late"]}}]}', "retry_kind", "rules[0].if.kinds[0]"),
        ('{"a":' * 1000 + "1" + "}" * 1000, "unknown_field", ".".join("a" * 17)),
    ],
)
def test_what_is_wrong_with_a_document_is_told(text: Any, name: str, path: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Policy.from_json(text)
    assert (raised.value.name, raised.value.path) == (name, path)
    assert raised.value.rule in str(raised.value)
    wrong: Any = 3
    with pytest.raises(TypeError):
        Policy.from_json(wrong)


def test_a_bare_number_is_seconds_in_code_and_nothing_in_a_document() -> None:
    assert Policy(deadline=30) == Policy.from_dict({"deadline": "30s"})
    with pytest.raises(ConfigError, match="must be a time from 0 to 292 years with its unit"):
        Policy.from_dict({"deadline": 30})


def test_fields_may_lie_deep_and_in_circles() -> None:
    circle: dict[str, Any] = {}
    circle["backoff"] = [circle]
    with pytest.raises(ConfigError):
        Policy.from_dict(circle)


FORMS: dict[FormName, dict[str, Any]] = {
    "grpc": {
        "methodConfig": [
            {
                "name": [{"service": "s"}],
                "timeout": "10s",
                "retryPolicy": {
                    "maxAttempts": 4,
                    "initialBackoff": "0.1s",
                    "maxBackoff": "1s",
                    "backoffMultiplier": 2,
                    "retryableStatusCodes": ["UNAVAILABLE"],
                },
            }
        ]
    },
    "temporal": {"initialInterval": "1s", "backoffCoefficient": 2.0, "maximumInterval": "100s", "maximumAttempts": 5},
    "kubernetes": {"Duration": "10ms", "Factor": 5.0, "Jitter": 0.1, "Steps": 4},
    "langgraphgo": {"MaxAttempts": 3, "InitialDelay": "100ms", "MaxDelay": "5s", "BackoffFactor": 2.0},
    "langgraphgo-graph": {"MaxRetries": 3, "BackoffStrategy": 1, "RetryableErrors": ["timeout"]},
    "aster": {"maxAttempts": 3, "backoff": "exponential", "baseDelayMs": 1000},
    "step-functions": {"Retry": [{"ErrorEquals": ["States.Timeout"], "MaxAttempts": 2}]},
    "serverless-workflow": {"delay": "PT3S", "backoff": {"exponential": {}}, "limit": {"attempt": {"count": 4}}},
    "dapr": {"policy": "exponential", "maxInterval": "15s", "maxRetries": 10},
    "gateway-api": {"retry": {"codes": [502, 503], "attempts": 2, "backoff": "100ms"}},
    "istio": {"retries": {"attempts": 3, "retryOn": "503,reset"}},
    "resilience4j": {"maxAttempts": 5, "waitDuration": "1s"},
    "polly": {"MaxRetryAttempts": 5, "UseJitter": True},
}
ONLY_READ = ("step-functions", "gateway-api", "istio")


@pytest.mark.parametrize("form", get_args(FormName))
def test_a_form_is_read_and_written(form: FormName) -> None:
    policy = Policy.from_form(form, FORMS[form])
    assert policy == Policy.from_form(form, json.dumps(FORMS[form]))
    if form in ONLY_READ:
        with pytest.raises(ConfigError, match="holdoff only reads"):
            policy.to_form(form)
    else:
        assert Policy.from_form(form, policy.to_form(form)) == policy


def test_types_of_errors_that_a_form_never_retries_are_not_retried() -> None:
    class NotFound(Exception):
        pass

    class Missing(NotFound):
        pass

    policy = Policy.from_form(
        "temporal",
        {"initialInterval": "0.001s", "maximumAttempts": 2, "nonRetryableErrorTypes": ["NotFound", "OSError"]},
    )
    assert policy == pickle.loads(pickle.dumps(policy)) == Policy.from_form("temporal", policy.to_form("temporal"))
    for error in (NotFound(), Missing(), OSError()):
        with pytest.raises(type(error)) as raised:
            policy.call(raising, error)
        outcome = holdoff.outcome_of(raised.value)
        assert outcome is not None
        assert (outcome.reason, outcome.attempts) == ("permanent", 1)
    with pytest.raises(NotFound) as raised:
        policy.retrying(on=lambda _: True).call(raising, NotFound())
    outcome = holdoff.outcome_of(raised.value)
    assert outcome is not None
    assert outcome.attempts == 2


def raising(error: Exception) -> None:
    raise error


def test_what_a_form_cannot_say_is_told() -> None:
    with pytest.raises(ConfigError) as raised:
        Policy("kubernetes", attempts=4, deadline=3).to_form("kubernetes")
    assert (raised.value.name, raised.value.path) == ("not_in_form", "deadline")
    with pytest.raises(ConfigError) as raised:
        Policy.from_form("aster", {"maxAttempts": 3, "colour": 1})
    assert raised.value.name == "unknown_form_field"
    unknown: Any = "hystrix"
    with pytest.raises(ValueError, match="must be one of grpc, temporal"):
        Policy.from_form(unknown, {})
    with pytest.raises(ConfigError) as raised:
        Policy.from_form("grpc", {"a": object()})
    assert raised.value.name == "not_json"


def test_an_explanation_is_rows_and_text() -> None:
    policy = Policy(attempts=4, deadline="1s", jitter="equal", backoff={"initial": "200ms"})
    explanation = policy.explain()
    rows = list(explanation)
    assert [(row.retry, row.min, row.typical, row.max) for row in rows] == [
        (1, 100_000_000, 150_000_000, 199_999_999),
        (2, 200_000_000, 300_000_000, 399_999_999),
        (3, 400_000_000, 600_000_000, 799_999_999),
    ]
    assert [row.in_time for row in rows] == ["always", "always", "sometimes"]
    assert (rows[1].min_total, rows[1].typical_total, rows[1].max_total) == (300_000_000, 450_000_000, 599_999_998)
    assert str(explanation).startswith("exponential backoff from 200ms by 2 up to 5s, equal jitter\n4 attempts")
    assert len(list(Policy("temporal").explain())) == 10
    assert len(list(Policy("temporal").explain(rows=3))) == 3
    assert explanation == policy.explain() != policy.explain(rows=1)
    slow = list(Policy("aws-standard-2.1").explain(after="throttled"))
    assert slow[0].max > 900_000_000 > next(iter(Policy("aws-standard-2.1").explain())).max


def test_lints_say_what_is_questionable() -> None:
    found = {lint.name: lint for lint in Policy(attempts="forever", jitter="none", backoff={"factor": 0.5}).lints()}
    assert set(found) == {"forever", "shrinking", "no_jitter"}
    shrinking = found["shrinking"]
    assert (shrinking.code, shrinking.found, shrinking.limit) == (302, 0.5, 1.0)
    assert str(shrinking).startswith("warning 302 shrinking: a factor below 1")
    assert Policy().lints() == []
    long = Policy(attempts=5, backoff={"kind": "constant", "delay": "1h"}, deadline=60).lints()
    assert [(lint.found, lint.limit) for lint in long if lint.name == "wait_above_deadline"] == [(4 * 3600, 60)]


def test_the_total_wait_is_seconds_and_exact_nanoseconds() -> None:
    policy = Policy(attempts=4, backoff={"initial": "1s", "max": "none"})
    assert (policy.total_wait, policy.total_wait_ns) == (7.0, 7_000_000_000)
    assert (Policy("temporal").total_wait, Policy("temporal").total_wait_ns) == (None, None)
    long = Policy(attempts=3, backoff={"kind": "constant", "delay": "2000000h"})
    assert long.total_wait_ns == 2**63 - 1


def test_sleeps_are_held_against_the_time_that_somebody_waits() -> None:
    policy = Policy(attempts=4, backoff={"initial": "1s", "max": "none"})
    assert policy.lints(within=7) == policy.lints(within="7s") == policy.lints() == []
    (lint,) = policy.lints(within=timedelta(seconds=6))
    assert (lint.code, lint.name, lint.found, lint.limit) == (316, "wait_above_timeout", 7, 6)
    assert str(lint).endswith("the sleeps alone take longer than the caller waits, without jitter (7s, limit 6s)")
    with pytest.raises(ConfigError) as raised:
        policy.lints(within=-1)
    assert raised.value.path == "within"


def test_retries_inside_retries_are_counted() -> None:
    three, outermost = Policy(attempts=3), Policy(attempts=3, nested="outermost")
    lint = lint_nested([three, "default", three])
    assert lint is not None
    assert (lint.code, lint.name, lint.found, lint.limit) == (317, "nested_retries", 27, None)
    assert str(lint) == "warning 317 nested_retries: a retry inside a retry multiplies attempts (at most 27 in all)"
    assert str(lint_nested([three, "temporal"])).endswith("(without an end)")
    assert lint_nested([]) is lint_nested([three]) is lint_nested([three, outermost]) is None
    with pytest.raises(TypeError):
        lint_nested([3])  # type: ignore[list-item]


durations = st.integers(0, 2**63 - 1).map("{}ns".format)
stages = st.fixed_dictionaries(
    {"kind": st.sampled_from(["constant", "linear", "exponential", "polynomial", "fibonacci", "decorrelated"])},
    optional={"initial": durations, "times": st.integers(1, 9), "max": st.just("none")},
)
conditions = st.dictionaries(
    st.sampled_from(["http", "grpc", "kinds", "codes", "types", "patterns"]),
    st.lists(st.integers(0, 600) | st.text(max_size=3) | st.sampled_from(["5xx", "timeout"]), max_size=4),
    max_size=3,
)
rules = st.fixed_dictionaries(
    {},
    optional={
        "if": conditions | st.lists(conditions | st.fixed_dictionaries({"idempotent": st.booleans()}), max_size=3),
        "retry": st.booleans(),
        "attempts": st.integers(0, 70_000) | st.just("forever"),
        "backoff": stages,
    },
)
fields = st.fixed_dictionaries(
    {},
    optional={
        "preset": st.sampled_from(get_args(PresetName)),
        "backoff": st.lists(stages, min_size=1, max_size=7) | st.fixed_dictionaries({"delays": st.lists(durations)}),
        "jitter": st.sampled_from(["none", "full", {"kind": "bounded", "bound": "1s"}, {"kind": "x"}]),
        "cap": st.sampled_from(["keep_spread", "before_jitter", "clip"]),
        "attempts": st.integers(0, 2**32) | st.just("forever"),
        "deadline": durations,
        "hint": st.fixed_dictionaries({"mode": st.sampled_from(["exact", "at_least"]), "reach": durations}),
        "rules": st.lists(rules, max_size=4),
    },
)


@given(fields)
def test_a_policy_survives_its_document(given: Any) -> None:
    try:
        policy = Policy.from_dict(given)
    except ConfigError as error:
        with pytest.raises(ConfigError) as raised:
            Policy.from_json(json.dumps(given))
        told = raised.value
        assert (error.code, error.path, error.rule) == (told.code, told.path, told.rule)
    else:
        assert policy == Policy.from_json(json.dumps(given)) == Policy.from_json(policy.to_json())
        assert policy == Policy.from_dict(policy.to_dict()) == eval(repr(policy))
        assert list(policy.explain(rows=5))[:1] == list(policy.explain(rows=1))


@given(st.text() | st.binary())
def test_any_text_is_a_document_or_an_error(text: str | bytes) -> None:
    try:
        Policy.from_json(text)
    except ConfigError as error:
        assert error.code in (141, 142)
