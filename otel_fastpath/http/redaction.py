"""Which URLs stock's `redact_url` has to look at. Plain Python; compiled as `redaction_c`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opentelemetry.util import http as util_http

if TYPE_CHECKING:
    from collections.abc import Iterable

# The parameters that `redact_url` looks for, to which an application may add its own, and the pattern of a query that
# may have one of them.
_secrets: list[object] = []
_perhaps_secret: re.Pattern[str] | None = None


def needs_redaction(url: str) -> bool:
    """Whether stock's `redact_url` has to look at this URL; if not, it would return it unchanged."""
    if "@" in url:
        return True
    start = url.find("?")
    if start < 0:
        return False
    pattern = _perhaps_secret if _secrets == util_http.PARAMS_TO_REDACT else _look_for(util_http.PARAMS_TO_REDACT)
    return pattern is None or pattern.search(url, start) is not None


def _look_for(names: Iterable[object]) -> re.Pattern[str] | None:
    """The pattern of a query that may have one of these parameters; None if each may.

    They may be encoded, or around a character that `urlparse` removes.
    """
    global _secrets, _perhaps_secret
    secrets = list(names)
    texts = [name for name in secrets if isinstance(name, str)]
    # "+" is a space.
    odd = any(not name or " " in name for name in texts)
    pattern = None if odd else re.compile("|".join([r"[%\t\r\n]", *map(re.escape, texts)]))
    _perhaps_secret, _secrets = pattern, secrets
    return pattern
