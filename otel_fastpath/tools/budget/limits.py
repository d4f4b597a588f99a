"""Limits: parses the texts in which a budget declares the limits of a metric."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

REGRESSION: Final = "regression"
OVERHEAD: Final = "overhead"
INSTRUCTIONS: Final = "instructions"
CACHE_LINES: Final = "cache_lines"
# What valgrind counts: valid for one build of the interpreter.
OF_BUILD: Final = (INSTRUCTIONS, CACHE_LINES)
# The variant of a scenario that a count can be limited by.
STOCK: Final = "stock"
COUNTS: Final = ("bytecodes", "calls", "allocations", *OF_BUILD)
METRICS: Final = (REGRESSION, OVERHEAD, *COUNTS)
# Another way to declare a limit of the overhead: the share of the CPU of the instrumented call, as for the guard.
MAX_CPU: Final = "max_cpu"
DECLARED: Final = (*METRICS, MAX_CPU)

# The resolution of the two timed gates on a noisy machine; tighter limits could not be checked.
LEAST_REGRESSION: Final = 0.02
LEAST_HEADROOM: Final = 0.20

_NUMBER = r"(\d+(?:[._]\d+)*)"
_PERCENT = re.compile(rf"\s*{_NUMBER}\s*%\s*")
_ADDED_PERCENT = re.compile(rf"\s*\+\s*{_NUMBER}\s*%\s*")
_AT_MOST = re.compile(rf"\s*<=\s*{_NUMBER}\s*")
_OF_STOCK = re.compile(rf"\s*<=\s*{_NUMBER}\s*%\s*of\s+{STOCK}\s*")
_REFERENCES = re.compile(rf"\s*(?:<=\s*)?{_NUMBER}\s*ref\s*")
_OF_BARE = re.compile(rf"\s*(?:<=\s*)?{_NUMBER}\s*%\s*of\s+bare\s*")
_MICROSECONDS = re.compile(rf"\s*(?:<=\s*)?{_NUMBER}\s*us\s*")

_EXPECTED: Final = {
    REGRESSION: f'"<number>%", at least {LEAST_REGRESSION:.0%}',
    OVERHEAD: f'"<number> ref", "<number>% of bare", "<number> us" or "+<number>%", at least +{LEAST_HEADROOM:.0%}',
    MAX_CPU: '"<number>%", below 100%',
    **dict.fromkeys(COUNTS, '"+<number>%" (of the calibrated count), "<= <number>" or "<= <number>% of stock"'),
}


@dataclass(frozen=True)
class Limit:
    """The highest value allowed for one metric.

    Attributes:
        metric: One of METRICS.
        text: The text of the declaration.
        value: The limit; if it is relative, the share that may be added (0.02 for "+2%").
        unit: "base", "ref", "bare", "us", "stock" (a share of the count of the variant of this name) or "" (a count
            per call).
        relative: Whether it is relative to the calibrated value, or, for a regression, to the base.
        gates: False for microseconds, which are for information only because they depend on the machine.
    """

    metric: str
    text: str
    value: float
    unit: str = ""
    relative: bool = False
    gates: bool = True

    @property
    def timed(self) -> bool:
        """Whether the limit is for a time and not for a count."""
        return self.metric in (REGRESSION, OVERHEAD)

    @property
    def key(self) -> str:
        """The metric's name in results, with the unit: one metric can have limits in several units."""
        return f"{self.metric} ({self.unit})" if self.metric == OVERHEAD and self.unit != "ref" else self.metric


def describe_syntax(metric: str) -> str:
    """Describe the syntax of a limit of this metric."""
    return _EXPECTED[metric]


def patterns(metric: str) -> tuple[str, ...]:
    """The regular expressions of which a limit of this metric matches one; some that match are too low all the same."""
    of_overhead = (_ADDED_PERCENT, _OF_BARE, _REFERENCES, _MICROSECONDS)
    found = {REGRESSION: (_PERCENT,), MAX_CPU: (_PERCENT,), OVERHEAD: of_overhead}.get(
        metric, (_ADDED_PERCENT, _AT_MOST, _OF_STOCK)
    )
    return tuple(pattern.pattern for pattern in found)


def parse(metric: str, text: object) -> Limit | None:
    """Parse one limit; None if the text is not a limit (see `expected`)."""
    if not isinstance(text, str) or metric not in DECLARED:
        return None
    text = " ".join(text.split())
    if metric == REGRESSION:
        return _regression(text)
    if metric == OVERHEAD:
        return _overhead(text)
    if metric == MAX_CPU:
        return _max_cpu(text)
    return _count(metric, text)


def _count(metric: str, text: str) -> Limit | None:
    added = _percent(_ADDED_PERCENT, text)
    if added is not None:
        return Limit(metric, text, added, relative=True)
    share = _percent(_OF_STOCK, text)
    if share is not None:
        return Limit(metric, text, share, unit=STOCK)
    most = _number(_AT_MOST, text)
    return None if most is None else Limit(metric, text, most)


def _regression(text: str) -> Limit | None:
    share = _percent(_PERCENT, text)
    if share is None or share < LEAST_REGRESSION:
        return None
    return Limit(REGRESSION, text, share, unit="base", relative=True)


def _max_cpu(text: str) -> Limit | None:
    share = _percent(_PERCENT, text)
    if not share or share >= 1:
        return None
    # A share of the whole call; an overhead is compared with the call without the hook.
    return Limit(OVERHEAD, f"{text} of the CPU", share / (1 - share), unit="bare")


def _overhead(text: str) -> Limit | None:
    added = _percent(_ADDED_PERCENT, text)
    if added is not None:
        return Limit(OVERHEAD, text, added, unit="ref", relative=True) if added >= LEAST_HEADROOM else None
    share = _percent(_OF_BARE, text)
    if share is not None:
        return Limit(OVERHEAD, text, share, unit="bare")
    references = _number(_REFERENCES, text)
    if references is not None:
        return Limit(OVERHEAD, text, references, unit="ref")
    microseconds = _number(_MICROSECONDS, text)
    return None if microseconds is None else Limit(OVERHEAD, text, microseconds, unit="us", gates=False)


def _number(pattern: re.Pattern[str], text: str) -> float | None:
    match = pattern.fullmatch(text)
    if match is None or match[1].count(".") > 1:
        return None
    return float(match[1])


def _percent(pattern: re.Pattern[str], text: str) -> float | None:
    number = _number(pattern, text)
    return None if number is None else number / 100
