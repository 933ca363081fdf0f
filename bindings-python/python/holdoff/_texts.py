"""Texts of errors for people: cut, in one line, and without the secrets that are known by their names.

Loaded when the first error is shown.
"""

from __future__ import annotations

import re

from ._errors import get

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SHOWN = 200
"""How many characters of an error's text are shown."""
_LOOKED_AT = 4000
"""How many characters are looked at: a secret may begin in the text that is shown and end after it."""
_NAMES = r"pass(?:word|wd|phrase)?|pwd|token|key|secret|auth|authorization|signature|sig|credentials?"
_SECRETS = re.compile(
    rf"""(?<=://)[^\s/@?#'"<>]*@  # the user and the password in a URL
    |(?<![\w.-])([\w.-]{{0,40}}?(?:{_NAMES})['"]?\s?[=:]\s?['"]?(?:(?:Bearer|Basic|Token)\s)?)[^&;,\s'"<>#]+
    |(?<!\w)((?:Bearer|Basic)\s)[\w.~+/=-]+""",
    re.IGNORECASE | re.VERBOSE,
)
_QUERIES = re.compile(r"""\?[^\s'"<>()]+""")


def request_of(args: tuple[Any, ...]) -> Any:
    """The `holdoff.http.Exchange` in the arguments of an event; None unless it is of a wrapped client."""
    first = args[0] if args else None
    return first if isinstance(get(first, "__holdoff_used__"), bool) else None


def masked(text: str) -> str:
    """The text, with ``***`` in the place of the user information of URLs, of the values of fields such as
    ``password``, ``token`` or ``api_key``, and of credentials behind ``Bearer`` or ``Basic``."""
    return _SECRETS.sub(_mask, text)


def _mask(found: re.Match[str]) -> str:
    before = found[1] or found[2]
    return "***@" if before is None else f"{before}***"


def text_of(error: BaseException, args: tuple[Any, ...] = ()) -> str:
    """The beginning of an error's text in one line, masked. The text may fail in its own ways. `args` are those of the
    event: the errors of a wrapped client's requests are shown without the queries of URLs."""
    try:
        text = str.__str__(str(error))
    except Exception as failed:
        return f"<its text failed with {type(failed).__name__}>"
    cut = masked(text[:_LOOKED_AT])
    if request_of(args) is not None:
        cut = _QUERIES.sub("?***", cut)
    return repr(cut[:SHOWN])[1:-1] + ("..." if len(cut) > SHOWN else "")
