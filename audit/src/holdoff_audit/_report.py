"""The report of an audit, as text and as JSON."""

from __future__ import annotations

import os
from typing import Any

from ._audit import MOST_REQUESTS, Audit
from ._loops import Loop
from ._stacks import Place
from ._switches import SWITCHES

_MOST_CALLS = 20
"""Calls in the text; the JSON has all."""


def text_of(audit: Audit, notes: list[str]) -> str:
    """The report for a person."""
    lines: list[str] = []
    found = audit.calls()
    shown = [call for call in found if call.kind != "request"][:_MOST_CALLS]
    for call in shown:
        lines += _call(call, audit.own)
    rest = [call for call in found if call not in shown]
    if rest:
        most = _plural(max(call.requests(audit.own) for call in rest), "request")
        lines.append(f"{_plural(len(rest), 'other call' if shown else 'call')} of at most {most}")
    lines += [f"note: {note}" for note in notes]
    lines.append(verdict(audit))
    return "\n".join(lines) + "\n"


def verdict(audit: Audit) -> str:
    """The last line."""
    if not audit.attempts:
        return "holdoff audit: the program made no HTTP request that the audit could see"
    made = f"{_plural(len(audit.attempts), 'request')}, answered with {audit.fail.text}"
    text = f"holdoff audit: {made}; the largest call makes {audit.requests}"
    if audit.most is None:
        return text
    return f"{text}, {'more than' if audit.exceeds else 'within'} --most {audit.most}"


def notes_of(audit: Audit) -> list[str]:
    notes = [text if count == 1 else f"{text} ({count} times)" for text, count in audit.network.notes.items()]
    if audit.stopped:
        notes.append(f"the program was stopped after {MOST_REQUESTS} requests: something in it repeats without end")
    return notes


def json_of(audit: Audit, notes: list[str]) -> dict[str, Any]:
    """The report for programs."""
    return {
        "fail": audit.fail.text,
        "requests": len(audit.attempts),
        "largest": audit.requests,
        "most": audit.most,
        "exceeded": audit.exceeds,
        "calls": [
            {
                "method": call.attempts[0].method,
                "url": call.attempts[0].url,
                "requests": call.requests(audit.own),
                "total": len(call.attempts),
                "layers": [_layer(loop, audit.own) for loop in call.layers(audit.own)],
            }
            for call in audit.calls()
        ],
        "notes": notes,
    }


def _layer(loop: Loop, own: bool) -> dict[str, Any]:
    place = loop.place
    return {
        "kind": loop.kind,
        "times": len(loop.parts),
        "parts": [part.requests(own) for part in loop.parts],
        "package": loop.package,
        "file": os.path.abspath(place.file) if place else None,
        "line": place.line if place else None,
        "function": place.function if place else None,
        "off": _off(loop),
        "after_errors": loop.after_errors if loop.kind == "own" else None,
    }


def _call(call: Loop, own: bool) -> list[str]:
    first = call.attempts[0]
    requests, total = call.requests(own), len(call.attempts)
    several = "" if requests == total else f" ({total} in all)"
    lines = [f"{_plural(requests, 'request')} for one call: {first.method} {first.url}{several}"]
    rows = [
        (f"{'  ' * depth}x{len(loop.parts)}  {_where(loop.place)}", _remark(loop, own))
        for depth, loop in enumerate(call.layers(own), 1)
    ]
    width = max(len(row) for row, _ in rows)
    return [*lines, *(f"{row:<{width}}  {remark}".rstrip() for row, remark in rows)]


def _remark(loop: Loop, own: bool) -> str:
    counts = [part.requests(own) for part in loop.parts]
    sizes = f" ({' + '.join(map(str, counts))})" if len(set(counts)) > 1 and len(counts) <= 12 else ""
    if loop.kind == "own":
        return f"a loop of your own{', which repeats after errors' if loop.after_errors else ''}{sizes}"
    if loop.kind == "batch":
        return f"different calls{sizes}"
    off = _off(loop)
    return f"{f'off: {off}' if off else 'retries'}{sizes}"


def _off(loop: Loop) -> str | None:
    switch = SWITCHES.get(loop.package or "")
    return switch.off if switch else None


def _where(place: Place | None) -> str:
    if place is None:
        return "separate threads"
    parts = place.file.replace(os.sep, "/").rsplit("/site-packages/", 1)
    file = (
        parts[1]
        if len(parts) > 1
        else os.path.relpath(place.file)
        if place.is_own and os.path.exists(place.file)
        else place.module
    )
    return f"{file}:{place.line} in {place.function}"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
