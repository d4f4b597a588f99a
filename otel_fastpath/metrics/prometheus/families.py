"""Metric families of Prometheus whose samples are made when somebody reads them: a page is written without them.

A family of stock's exporter is an object of `prometheus_client` with a list of samples, each a tuple with a dict of its
own: 18 for a point of a histogram. Here the family keeps the rows of labels and the values that stock would make them
of, and is of a class without `samples` until they are read.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.exporter import prometheus as _exporter
from prometheus_client import metrics_core as _core

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import unreplaced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_GIVEN: Final = "_otel_fastpath_given"
COUNTER: Final = _core.CounterMetricFamily
GAUGE: Final = _core.GaugeMetricFamily
HISTOGRAM: Final = _core.HistogramMetricFamily
_NUMBERS: Final = frozenset({int, float})
# What stock calls for each sample, and what is not called here until samples are read.
_adding: Final = Facts(
    [
        *(unreplaced(kind, "add_metric") for kind in (COUNTER, GAUGE, HISTOGRAM)),
        *((_exporter, kind.__name__, kind) for kind in (COUNTER, GAUGE, HISTOGRAM)),
        unreplaced(_exporter, "_convert_buckets"),
        unreplaced(_exporter, "_get_or_create_family"),
    ]
)


class _Unread:
    """What makes the samples of a family; comes after one of `prometheus_client`'s classes, whose layout counts."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name == "samples":
            return read(self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        samples = read(self)
        made = without_samples(self)
        made.samples = samples
        return made.__reduce_ex__(protocol)


def _unread(kind: type) -> type:
    names: dict[str, Any] = {"__slots__": (), "__module__": kind.__module__, "__qualname__": kind.__qualname__}
    return type(kind.__name__, (kind, _Unread), names)


# The class of a family -> that of one whose samples nobody has read, and back.
_UNREAD: Final[dict[type, type]] = {kind: _unread(kind) for kind in (COUNTER, GAUGE, HISTOGRAM)}
KINDS: Final[dict[type, type]] = {unread: kind for kind, unread in _UNREAD.items()}


def rows_of(family: Any) -> list[tuple[Sequence[Sequence[str]], Sequence[Any]]]:
    """The rows of labels and the values of a family of one of `KINDS`."""
    return [(given["label_rows"], given["values"]) for _, given in vars(family)[_GIVEN]]


def without_samples(family: Any) -> Any:
    """A copy of a family of one of `KINDS` that has no samples."""
    made: Any = object.__new__(KINDS.get(type(family), type(family)))
    vars(made).update(vars(family), samples=[])
    return made


def read(family: Any) -> Any:
    """The samples: stock makes them, and the family is stock's own from then on."""
    try:
        return _read(family)
    except Exception as error:
        faults.absorb("the Prometheus exporter", error)
    return _stock_samples(family)


def _stock_samples(family: Any) -> list[Any]:
    """The samples, made by stock in families of its own."""
    samples: list[Any] = []
    for original, given in vars(family)[_GIVEN]:
        registry: dict[str, Any] = {}
        original(**{**given, "registry": registry})
        samples += next(iter(registry.values())).samples
    return samples


def _read(family: Any) -> Any:
    kind, given = KINDS.get(type(family)), vars(family).get(_GIVEN)
    if kind is None or given is None:
        # Another thread was faster.
        return family.samples
    made = without_samples(family)
    for original, each in given:
        original(**{**each, "registry": {_key(each, kind): made}})
    samples = vars(family).setdefault("samples", made.samples)
    family.__class__ = kind
    vars(family).pop(_GIVEN, None)
    return samples


def _key(given: dict[str, Any], kind: type) -> str:
    """Under which stock looks for a family."""
    return f"{given['per_metric_family_id']}|{kind.__name__}"


def bind(original: Callable[..., None], name: str) -> Callable[..., None]:
    """Make the replacement of the stock function that adds points to a family of the class of this name."""
    kind = getattr(_core, name)

    @functools.wraps(original)
    def populate(*args: Any, **kwargs: Any) -> None:
        try:
            is_kept = not args and _adding.hold() and _keep(original, kind, kwargs)
        except Exception as error:
            faults.absorb("the Prometheus exporter", error)
            is_kept = False
        if not is_kept:
            original(*args, **kwargs)

    return populate


def _keep(original: Callable[..., None], kind: type, given: dict[str, Any]) -> bool:
    """Keep the rows and the values in the family that stock finds or makes, if it has no samples of others."""
    if not given["label_rows"] or (kind is HISTOGRAM and not _are_plain(given["values"])):
        return False
    original(**{**given, "label_rows": (), "values": ()})
    family = given["registry"][_key(given, kind)]
    # Not the registry, which has all families.
    kept = original, {**given, "registry": None}
    own = vars(family)
    if type(family) is _UNREAD[kind]:
        own[_GIVEN].append(kept)
        return True
    if type(family) is not kind or own["samples"]:
        return False
    own[_GIVEN] = [kept]
    family.__class__ = _UNREAD[kind]
    del own["samples"]
    return True


def _are_plain(values: Sequence[dict[str, Any]]) -> bool:
    """Whether stock can make samples of all of these values: what it raises, it is to raise now."""
    last = None
    for value in values:
        counts, bounds = value["bucket_counts"], value["explicit_bounds"]
        if bounds is not last:
            if type(bounds) is not tuple or not all(type(bound) in _NUMBERS for bound in bounds):
                return False
            last = bounds
        if type(counts) is not tuple or len(counts) != len(bounds) + 1:
            return False
    return True
