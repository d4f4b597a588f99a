"""The rejection threshold `th` and the randomness `rv` of a trace, as in OpenTelemetry's trace state.

The specification is "TraceState: Probability Sampling" (status: development). A span is kept if its 56 bits of
randomness are at least its threshold; it then stands for `1 / probability` spans, its adjusted count.
"""

from __future__ import annotations

from typing import Final

KEY: Final = "ot"
_BITS: Final = 56
MOST: Final = 1 << _BITS
# The last 56 bits of a trace id.
RANDOMNESS: Final = MOST - 1
_DIGITS: Final = 14
_LONGEST: Final = 256
# The specification recommends four digits.
_PRECISION: Final = 4


def threshold_of(probability: float) -> int:
    """The threshold for a probability above 0, with four hexadecimal digits after the leading `f`s."""
    exact = MOST - round(min(1.0, probability) * MOST)
    leading = f"{exact:014x}"
    kept = min(_DIGITS, len(leading) - len(leading.lstrip("f")) + _PRECISION)
    unit = 1 << 4 * (_DIGITS - kept)
    return min((exact + unit // 2) // unit * unit, MOST - unit)


def probability_of(threshold: int) -> float:
    """The probability that belongs to a threshold; its reciprocal is the adjusted count."""
    return (MOST - threshold) / MOST


def randomness(trace_id: int, entry: str) -> int:
    """The randomness of a trace: `rv` in the entry `ot` of its trace state, or else the last 56 bits of its id."""
    text = _value(entry, "rv")
    found = _number(text) if len(text) == _DIGITS else None
    return trace_id & RANDOMNESS if found is None else found


def threshold_in(entry: str) -> int | None:
    """The threshold in an entry `ot`; None if it has none, or an invalid one."""
    text = _value(entry, "th")
    found = _number(text) if 0 < len(text) <= _DIGITS else None
    return None if found is None else found << 4 * (_DIGITS - len(text))


def entry_with(entry: str, threshold: int | None) -> str:
    """The entry `ot` with this threshold, or without any; its other values are kept."""
    others = [each for each in entry.split(";") if each and not each.startswith("th:")]
    if threshold is not None:
        others.insert(0, f"th:{f'{threshold:014x}'.rstrip('0') or '0'}")
    made = ";".join(others)
    return made if len(made) <= _LONGEST else entry


def _value(entry: str, key: str) -> str:
    return next((each[len(key) + 1 :] for each in entry.split(";") if each.startswith(f"{key}:")), "")


def _number(text: str) -> int | None:
    if text and all(each in "0123456789abcdef" for each in text):
        return int(text, 16)
    return None
