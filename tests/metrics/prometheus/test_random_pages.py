"""Pages of random data are byte for byte stock's, in each format and escaping, and so are the samples of families."""
# ruff: noqa: D105  # what their text is

from __future__ import annotations

import logging
from decimal import Decimal
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client import CollectorRegistry, exposition
from prometheus_client import Counter as OwnCounter
from prometheus_client import Histogram as OwnHistogram
from prometheus_client import metrics as client_metrics
from prometheus_client.openmetrics import exposition as openmetrics


class Odd:
    """A value that JSON does not know."""

    def __str__(self):
        return 'od"d\\\n'


class OwnText(str):
    """A text of the application's own."""

    __slots__ = ()

    def __str__(self):
        return "its own"


ESCAPINGS = ("underscores", "allow-utf-8", "dots", "values")
NAMES = st.sampled_from(["a", "b", "b.c", "b_c", "a_total", "a:b", "7up", "é", "a-b", "", "x_seconds"])
KEYS = st.sampled_from(["k", "k.k", "k_k", "le", "a", "z", "", "__k", "9", "é", "otel_scope_name", "Le"])
TEXTS = st.sampled_from(["", "v", 'a"b', "a\\b", "a\nb", "é\u2028", "x" * 40, "0"])
VALUES = st.one_of(
    TEXTS,
    st.sampled_from(
        [True, False, 1.5, float("nan"), None, [1, "a"], ("b",), Decimal(1), Odd(), OwnText("t"), b"b", {}]
    ),
    st.integers(),
)
ATTRIBUTES = st.dictionaries(KEYS, VALUES, max_size=4)
NUMBERS = st.one_of(
    st.integers(-(10**17), 10**17),
    st.sampled_from([0, 999_999, 10**6, 1_234_500, 10**9, 10**10 - 1, 10**10, 10**11, 10**15, 10**16, -(10**9), True]),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([1e6, 123456.0, 1e7, 1e22, -0.0, 1e-7, float("inf"), 2.0**60]),
)
ODD_NUMBERS = st.sampled_from([None, Decimal("1.5"), 10**400, "1", "x"])
COUNTS = st.sampled_from([0, 0, 0, 1, 5, 999_999, 10**6, 10**10])
BOUNDS = st.one_of(
    st.sampled_from(
        [
            (0.0, 5.0, 10.0, 1e6, 1e7),
            (0, 5, 10),
            (0.0, 5.0, 10.0),
            (-0.0, 5.0, 10.0),
            (-1.0, 1.0),
            (),
            (1.0, float("inf")),
            (float("nan"),),
            [1.0, 2.0],
            (True, 2),
            (Decimal(1),),
        ]
    ),
    st.lists(st.floats(allow_nan=False), min_size=1, max_size=3).map(tuple),
)


@st.composite
def histogram_points(draw):
    """A point of a histogram, rarely of a form that the SDK does not make."""
    bounds = draw(BOUNDS)
    size = len(bounds) + (draw(st.sampled_from([1] * 12 + [0, 2])))
    counts = draw(st.lists(COUNTS, min_size=size, max_size=size))
    total = draw(st.one_of(NUMBERS, st.none()))
    kind = draw(st.sampled_from([tuple] * 8 + [list]))
    return HistogramDataPoint(draw(ATTRIBUTES), 1, 2, sum(counts), total, kind(counts), bounds, 0, 1)


NUMBER_POINTS = st.builds(NumberDataPoint, ATTRIBUTES, st.just(1), st.just(2), st.one_of(*[NUMBERS] * 9, ODD_NUMBERS))
TEMPORALITIES = st.sampled_from(list(AggregationTemporality))
DATA = st.one_of(
    st.builds(Sum, st.lists(NUMBER_POINTS, max_size=3), TEMPORALITIES, st.booleans()),
    st.builds(Gauge, st.lists(NUMBER_POINTS, max_size=3)),
    st.builds(Histogram, st.lists(histogram_points(), max_size=3), TEMPORALITIES),
)
METRICS = st.builds(
    Metric,
    NAMES,
    st.sampled_from([None, "", "text", 'te"x\\t\n']),
    st.sampled_from([None, "", "s", "{x}/s", "%"]),
    DATA,
)
SCOPES = st.builds(
    InstrumentationScope,
    st.sampled_from(["scope", 'a"\\']),
    st.sampled_from([None, "1"]),
    st.sampled_from([None, "u"]),
    st.dictionaries(st.sampled_from(["x", "name"]), st.sampled_from(["y", 1]), max_size=2),
)
PAGES = st.lists(st.tuples(SCOPES, st.lists(METRICS, min_size=1, max_size=4)), min_size=1, max_size=2)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "disable_target_info": st.booleans(),
        "prefix": st.sampled_from(["", "p", "9.p"]),
        "scope_info_enabled": st.booleans(),
        "resource_attribute_filter": st.sampled_from([None, lambda key: key != "telemetry.sdk.name"]),
    },
)


def registry_of(page, wanted, *, has_others):
    """A registry with a reader that has received this page."""
    registry = CollectorRegistry()
    if has_others:
        own = OwnCounter("own", 'of the "application"', ["le"], registry=registry).labels('a"')
        own.inc(1e7)
    reader = PrometheusMetricReader(registry=registry, **wanted)
    reader._collector._callback = None
    of_scopes = [ScopeMetrics(scope, metrics, "") for scope, metrics in page]
    data = MetricsData([ResourceMetrics(Resource({"service.name": 's"', "n": 1}), of_scopes, "")])
    reader._receive_metrics(data)
    if has_others:
        later = OwnHistogram("later", "", registry=registry)
        later.observe(0.1, {"trace": "x"})
        # Twice: stock repeats the families of the first.
        reader._receive_metrics(data)
    return registry


def samples(registry):
    """What a reader of families finds."""
    return [
        (type(each).__name__, each.name, each.documentation, each.unit, repr(each.samples), sorted(vars(each)))
        for each in registry.collect()
    ]


def attempt(use, page, wanted, *, has_others):
    """What a use of a new registry gives or raises."""
    try:
        return use(registry_of(page, wanted, has_others=has_others))
    except Exception as error:
        return type(error), str(error.args[:1])


USES = (
    lambda registry: exposition.generate_latest(registry),  # noqa: PLW0108  # what is in its place now
    *(lambda registry, way=way: exposition.generate_latest(registry, way) for way in ESCAPINGS),
    *(lambda registry, way=way: openmetrics.generate_latest(registry, escaping=way) for way in ESCAPINGS),
    lambda registry: openmetrics.generate_latest(registry, "underscores", version="2.0.0"),
    lambda registry: exposition.generate_latest(registry.restricted_registry(["target_info", "a_total"])),
    samples,
)


@pytest.fixture
def at_one_time(monkeypatch):
    """Exemplars of the client's own metrics have the same time in each registry."""
    monkeypatch.setattr(client_metrics, "time", SimpleNamespace(time=lambda: 5.0))


@pytest.mark.proves("prometheus.*")
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(page=PAGES, wanted=SETTINGS, has_others=st.booleans())
def test_random_pages(as_stock, at_one_time, caplog, page, wanted, has_others):
    """In each format; what is raised is of the same type, with the same message."""
    del at_one_time
    caplog.set_level(logging.CRITICAL)
    for number, use in enumerate(USES):
        found = attempt(use, page, wanted, has_others=has_others)
        with as_stock():
            expected = attempt(use, page, wanted, has_others=has_others)
        assert found == expected, number
