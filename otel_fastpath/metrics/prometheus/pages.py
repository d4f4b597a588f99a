"""Pages of metrics: `generate_latest` of `prometheus_client`, in both of its formats.

Families whose samples nobody has read are written here, line by line, from the rows and values that they keep. All
others, and the heads of these, are written by stock's own function, which gets the registry part by part.
"""

from __future__ import annotations

import inspect
import re
from array import array
from bisect import bisect_left
from functools import wraps
from itertools import chain, takewhile
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import exposition as _text_format
from prometheus_client import utils as _utils
from prometheus_client.openmetrics import exposition as _open_metrics

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.metrics.prometheus.families import COUNTER, HISTOGRAM, KINDS, rows_of, without_samples
from otel_fastpath.patching import faults
from otel_fastpath.patching.pausing import Pace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Names of which nothing is escaped, but where underscores are.
_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_LABEL: Final = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")
_ESCAPINGS: Final = frozenset({None, "underscores", "allow-utf-8"})
# From here on, Go writes an exponent; from the other one on, with more digits than stock in each release.
_SHORT: Final = 1_000_000
_LONG: Final = 10**10
_PLACE: Final = "a page of Prometheus"
# After so many points, other threads may run.
_STRETCH: Final = 16
_go_string: Final[Callable[[Any], str]] = _utils.floatToGoString
# What stock calls to write a line.
_writing: Final = Facts(
    [
        (_text_format, "floatToGoString", _go_string),
        (_open_metrics, "floatToGoString", _go_string),
        (_text_format, "openmetrics", _open_metrics),
        *(
            (_open_metrics, name, found)
            for name, found in vars(_open_metrics).items()
            if name.startswith(("escape_", "_escape", "_is_valid_legacy_", "_is_legacy_"))
        ),
    ]
)


class _Families:
    """What stock takes for a registry: it has these families."""

    __slots__ = ("collect",)

    def __init__(self, families: Iterator[Any]) -> None:
        # A function of C: no error of this package's arises below stock's function.
        self.collect = families.__iter__


class _Registry:
    """A registry in parts: each is stock's to write, and ends with the head of a family whose lines are written here.

    Args:
        families: Those of the whole registry.

    Attributes:
        found: The last family of the current part; None if there are no more of these.
    """

    __slots__ = ("_families", "_head", "found")

    def __init__(self, families: Iterator[Any]) -> None:
        self._families = families
        self._head: Any = None
        self.found: Any = None

    def next_part(self) -> _Families:
        self.found = None
        return _Families(chain(takewhile(self._pass_on, self._families), iter(self._take_head, None)))

    def _pass_on(self, family: Any) -> bool:
        try:
            if type(family) in KINDS and _is_simple(family):
                self._head = without_samples(family)
                self.found = family
                return False
        except Exception as error:
            faults.absorb(_PLACE, error)
        return True

    def _take_head(self) -> Any:
        head, self._head = self._head, None
        return head


def _is_simple(family: Any) -> bool:
    """Whether both formats have the names as they are, and the labels in their order."""
    names = family._labelnames
    is_plain = _NAME.fullmatch(family.name) is not None and all(map(_LABEL.fullmatch, names))
    return is_plain and list(names) == sorted(set(names))


def bind(original: Callable[..., bytes], end: bytes) -> Callable[..., bytes]:
    """Make the replacement of a `generate_latest`.

    Args:
        original: Stock's function.
        end: What it writes after the last family.
    """
    default = inspect.signature(original).parameters["registry"].default

    @wraps(original)
    def generate_latest(*args: Any, **kwargs: Any) -> bytes:
        try:
            page = _page(original, end, default, args, dict(kwargs))
        except Exception as error:
            faults.absorb(_PLACE, error)
            page = None
        return original(*args, **kwargs) if page is None else page

    return generate_latest


def _page(
    original: Callable[..., bytes], end: bytes, default: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> bytes | None:
    """The page, or None if stock must write all of it."""
    whole, more = (args[0], args[1:]) if args else (kwargs.pop("registry", default), ())
    escaping = kwargs.get("escaping", more[0] if more else None)
    if escaping not in _ESCAPINGS or not hasattr(whole, "collect") or not _writing.hold():
        return None

    def write(families: _Families) -> bytes:
        page = original(families, *more, **kwargs)
        return page[: len(page) - len(end)]

    registry, pages, turn = _Registry(iter(whole.collect())), [], Pace().turn
    while True:
        pages.append(write(registry.next_part()))
        family = registry.found
        if family is None:
            return b"".join([*pages, end])
        try:
            pages += _Lines(family).write(turn)
        except Exception as error:
            # Of a value, for example: stock raises it for this family.
            faults.absorb_any(_PLACE, error)
            head = write(_Families(iter([without_samples(family)])))
            pages.append(write(_Families(iter([family])))[len(head) :])


class _LabelValues(dict[str, str]):
    """The values of one label, each with its name and escaped as by stock."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def __missing__(self, value: str) -> str:
        escaped = value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
        text = self[value] = f'{self._name}="{escaped}"'
        return text


class _Bounds(dict[bytes, list[str]]):
    """The bounds of histograms, each as stock writes it."""

    def texts(self, bounds: tuple[float, ...]) -> list[str]:
        """The texts: the same ones again for the same floats. Other numbers may be equal and have another text."""
        if set(map(type, bounds)) != {float}:
            return [*map(str, bounds), "+Inf"]
        # Not by the floats, as zeros of both signs are equal.
        key = array("d", bounds).tobytes()
        found = self.get(key)
        if found is None:
            found = self[key] = [*map(str, bounds), "+Inf"]
        return found


class _Lines:
    """Writes the lines of the samples that a family would have.

    Args:
        family: One of `KINDS`.
    """

    def __init__(self, family: Any) -> None:
        kind, names = KINDS[type(family)], family._labelnames
        self._family = family
        self._name = f"{family.name}_total" if kind is COUNTER else family.name
        self._names = names
        self._is_histogram = kind is HISTOGRAM
        # Where the label of the buckets is among the labels, and where those after it begin: it replaces an equal one.
        self._before = bisect_left(names, "le")
        self._after = self._before + ("le" in names)
        self._bounds: Any = None
        self._texts: list[str] = []
        self._written = _Bounds()
        self._lines: list[str] = []

    def write(self, turn: Callable[[], None]) -> list[bytes]:
        """The lines; `turn` is called now and then, to let other threads run."""
        add = self._add_histogram if self._is_histogram else self._add_number
        lines, labels = self._lines, [*map(_LabelValues, self._names)]
        pages: list[bytes] = []
        left = _STRETCH
        for rows, values in rows_of(self._family):
            for row, value in zip(rows, values, strict=False):
                add([known[text] for known, text in zip(labels, row, strict=False)], value)
                left -= 1
                if not left:
                    left = _STRETCH
                    pages.append("".join(lines).encode())
                    lines.clear()
                    turn()
        pages.append("".join(lines).encode())
        return pages

    def _add_number(self, labels: list[str], value: Any) -> None:
        self._lines.append(f"{self._name}{_braces(labels)} {_number(value)}\n")

    def _add_histogram(self, labels: list[str], value: Any) -> None:
        bounds, lines, name = value["explicit_bounds"], self._lines, self._name
        if bounds is not self._bounds:
            self._texts = self._written.texts(bounds)
            self._bounds = bounds
        head = ",".join((*labels[: self._before], 'le="'))
        tail = ",".join(('"', *labels[self._after :]))
        start, total, number = f"{name}_bucket{{{head}", 0, "0.0"
        for bound, count in zip(self._texts, value["bucket_counts"], strict=False):
            # Most buckets have no measurements.
            if count:
                total += count
                number = _number(total)
            lines.append(f"{start}{bound}{tail}}} {number}\n")
        # Stock leaves these out if the lowest bound is negative.
        if value["sum"] is not None and float(self._texts[0]) >= 0:
            braces = _braces(labels)
            lines.append(f"{name}_count{braces} {number}\n")
            lines.append(f"{name}_sum{braces} {_number(value['sum'])}\n")


def _braces(labels: list[str]) -> str:
    return f"{{{','.join(labels)}}}" if labels else ""


def _number(value: Any) -> str:
    """A value as stock writes it."""
    if type(value) is int and -_LONG < value < _LONG:
        if value < _SHORT:
            return f"{value}.0"
        digits = str(value)
        return f"{digits[0]}.{digits[1:]}".rstrip("0.") + f"e+{len(digits) - 1:02d}"
    return _go_string(value)
