"""What stands beside equal pages: who is called, what others find in a family, and who waits for a scrape."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import time
import urllib.request
from types import SimpleNamespace

import prometheus_client
import pytest
import wrapt
from opentelemetry.exporter import prometheus as exporter
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import CollectorRegistry, exposition, metrics_core
from prometheus_client.openmetrics import exposition as openmetrics

from otel_fastpath.metrics.prometheus import families, pages, point_labels
from otel_fastpath.patching import pausing

POINTS = 40


@pytest.fixture
def scraped(ours):
    """A meter with a histogram, a counter and a gauge, and its registry."""
    del ours
    registry = CollectorRegistry()
    provider = MeterProvider(metric_readers=[PrometheusMetricReader(registry=registry)], shutdown_on_exit=False)
    meter = provider.get_meter("scraped")
    found = SimpleNamespace(
        registry=registry,
        histogram=meter.create_histogram("duration", unit="s"),
        counter=meter.create_counter("requests"),
        gauge=meter.create_gauge("depth"),
    )
    for number in range(POINTS):
        found.histogram.record(number, {"number": number, "le": "own"})
        found.counter.add(number, {"number": str(number)})
    found.gauge.set(1.5)
    yield found
    provider.shutdown()


def family_of(scraped, name):
    """The family of this name."""
    return next(each for each in scraped.registry.collect() if each.name == name)


@pytest.mark.parametrize("name", ["duration_seconds", "requests", "depth"])
def test_samples_are_made_when_they_are_read(scraped, as_stock, name):
    """The family is stock's own from then on; the page is the same before and after."""
    found = family_of(scraped, name)
    with as_stock():
        expected = family_of(scraped, name)
    assert "samples" not in vars(found)
    assert isinstance(found, type(expected))
    assert type(found).__qualname__ == type(expected).__qualname__
    before = exposition.generate_latest(SimpleNamespace(collect=lambda: [found]))
    assert "samples" not in vars(found)
    assert found == expected
    assert type(found) is type(expected)
    assert vars(found) == vars(expected)
    assert exposition.generate_latest(SimpleNamespace(collect=lambda: [found])) == before
    with pytest.raises(AttributeError, match="MetricFamily' object has no attribute 'other'"):
        _ = family_of(scraped, name).other


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])  # noqa: S301
def test_copies_are_of_stocks_class(scraped, copied):
    """Also those in another process, which may have none of this package's classes."""
    found = copied(family_of(scraped, "duration_seconds"))
    assert type(found) is metrics_core.HistogramMetricFamily
    assert len(found.samples) == POINTS * 18


def test_more_samples_can_be_added(scraped):
    """By stock's own methods, to a family of which nobody has read the samples."""
    found = family_of(scraped, "requests")
    found.add_metric(["1", "", "", ""], 5)
    assert len(found.samples) == POINTS + 1


def test_samples_are_read_by_two_threads(scraped):
    """Both find the same list."""
    for _ in range(20):
        family, start, found = family_of(scraped, "duration_seconds"), threading.Barrier(4), []

        def read(family=family, start=start, found=found):
            start.wait()
            found.append(family.samples)

        threads = [threading.Thread(target=read) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert len(found) == 4
        assert all(each is family.samples for each in found)
        assert len(family.samples) == POINTS * 18


CALLED = [
    (exporter._CustomCollector, "_check_value"),
    (exporter, "sanitize_attribute"),
    (exporter, "dumps"),
    (exporter, "_convert_buckets"),
    (exporter, "_get_or_create_family"),
    (metrics_core.CounterMetricFamily, "add_metric"),
    (metrics_core.HistogramMetricFamily, "add_metric"),
    (metrics_core.GaugeMetricFamily, "add_metric"),
    (exposition, "floatToGoString"),
    (openmetrics, "_escape"),
    (openmetrics, "escape_label_name"),
]


@pytest.mark.parametrize(("owner", "name"), CALLED, ids=lambda each: getattr(each, "__name__", each))
def test_what_others_have_replaced_is_called(scraped, as_stock, monkeypatch, owner, name):
    """As often as by stock; and no longer once it is put back."""
    calls = []
    original = getattr(owner, name)

    def replacement(*args, **kwargs):
        calls.append(name)
        return original(*args, **kwargs)

    before = exposition.generate_latest(scraped.registry)
    monkeypatch.setattr(owner, name, replacement)
    found = exposition.generate_latest(scraped.registry), openmetrics.generate_latest(scraped.registry)
    ours = len(calls)
    calls.clear()
    with as_stock():
        assert found == (
            exposition.generate_latest(scraped.registry),
            openmetrics.generate_latest(scraped.registry),
        )
    assert ours == len(calls) > 0
    monkeypatch.setattr(owner, name, original)
    calls.clear()
    assert exposition.generate_latest(scraped.registry) == before
    assert calls == []


def test_a_collector_of_others(ours, as_stock):
    """A subclass has the values of labels its own way."""
    del ours

    class Own(exporter._CustomCollector):
        def _check_value(self, value):
            return f"<{value}>"

    reader = PrometheusMetricReader(registry=CollectorRegistry())
    own = Own()
    own._callback = reader._collector._callback
    reader._collector = own
    registry = CollectorRegistry()
    registry.register(own)
    MeterProvider(metric_readers=[reader], shutdown_on_exit=False).get_meter("x").create_counter("c").add(1, {"a": "b"})
    found = exposition.generate_latest(registry)
    assert b'a="<b>"' in found
    with as_stock():
        assert exposition.generate_latest(registry) == found


def series(page):
    """What a page names; the values of the default registry are those of this process at that moment."""
    return [line if line.startswith(b"#") else line.rpartition(b" ")[0] for line in page.splitlines()]


def test_every_name_and_the_server(scraped, as_stock):
    """The page that a scrape gets, and the functions that applications call."""
    with as_stock():
        expected = exposition.generate_latest(scraped.registry)
    assert prometheus_client.generate_latest(scraped.registry) == expected
    assert prometheus_client.generate_latest(registry=scraped.registry) == expected
    assert series(exposition.generate_latest()) == series(prometheus_client.generate_latest())
    server, thread = prometheus_client.start_http_server(0, "127.0.0.1", scraped.registry)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/metrics", timeout=20) as answer:
            assert answer.read() == expected
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    for call in (openmetrics.generate_latest, lambda: exposition.generate_latest(None)):
        with pytest.raises((TypeError, AttributeError)):
            call()


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_wrapper_of_others(instrumentor, core, monkeypatch, when):
    """Stock's function runs below one that was there before; one that came later has the page."""
    calls = []

    def wrapper(wrapped, _instance, args, kwargs):
        calls.append(args)
        return wrapped(*args, **kwargs)

    registry = CollectorRegistry()
    provider = MeterProvider(metric_readers=[PrometheusMetricReader(registry=registry)], shutdown_on_exit=False)
    provider.get_meter("x").create_counter("c").add(1)
    if when == "after":
        instrumentor.instrument(core=core)
    monkeypatch.setattr(exposition, "generate_latest", wrapt.FunctionWrapper(exposition.generate_latest, wrapper))
    expected = exposition.generate_latest(registry)
    if when == "before":
        instrumentor.instrument(core=core)
        states = {row.name: row.state.value for row in instrumentor.status()}
        assert states["prometheus.text_page"] == "skipped"
        assert states["prometheus.histogram"] == "applied"
    calls.clear()
    assert exposition.generate_latest(registry) == expected
    assert calls == [(registry,)]
    instrumentor.uninstrument()
    assert exposition.generate_latest(registry) == expected


FAULTY = [
    (point_labels, "_collect"),
    (point_labels, "_add"),
    (families, "_keep"),
    (families, "_are_plain"),
    (pages, "_number"),
    (pages, "_braces"),
]


@pytest.mark.parametrize(("module", "name"), FAULTY, ids=lambda each: getattr(each, "__name__", each))
def test_a_fault_of_ours(instrumented, as_stock, no_faults, monkeypatch, caplog, module, name):
    """The page is stock's."""
    del instrumented
    with caplog.at_level("CRITICAL"):
        registry = CollectorRegistry()
        provider = MeterProvider(metric_readers=[PrometheusMetricReader(registry=registry)], shutdown_on_exit=False)
        meter = provider.get_meter("x")
        meter.create_histogram("h").record(1, {"a": 1})
        meter.create_counter("c").add(1, {"a": 1})
        with as_stock():
            expected = exposition.generate_latest(registry)

        def fail(*_args):
            raise ZeroDivisionError("ours")

        monkeypatch.setattr(module, name, type(fail)(fail.__code__, vars(module), name))
        assert exposition.generate_latest(registry) == expected
        assert no_faults.counts()
        no_faults.forget()


def inconsistent(page):
    """The lines of a histogram that do not fit to those before."""
    counts = {}
    for line in page.splitlines():
        point, value = line.partition('number="')[2].partition('"')[0], line.rpartition(" ")[2]
        if line.startswith("duration_seconds_bucket{"):
            if float(value) < counts.get(point, 0):
                yield line
            counts[point] = float(value)
        elif line.startswith("duration_seconds_count{") and counts[point] != float(value):
            yield line


def test_scrapes_while_others_measure(scraped):
    """Each page is whole: the buckets of a point never decrease, and end with its count."""
    stop, wrong = threading.Event(), []

    def measure():
        number = 0
        while not stop.is_set():
            number += 1
            scraped.histogram.record(number % 100, {"number": number % POINTS, "le": "own"})
            scraped.counter.add(1, {"number": str(number % POINTS)})

    def scrape():
        for _ in range(10):
            wrong.extend(inconsistent(exposition.generate_latest(scraped.registry).decode()))

    threads = [threading.Thread(target=measure), *(threading.Thread(target=scrape) for _ in range(3))]
    for each in threads:
        each.start()
    for each in threads[1:]:
        each.join()
    stop.set()
    threads[0].join()
    assert wrong == []


@pytest.mark.parametrize("write", ["text", "open"])
def test_others_get_turns(scraped, monkeypatch, write):
    """The scraping thread never computes for two milliseconds without asking whether others may run."""
    for number in range(POINTS, 600):
        for _ in range(2):
            scraped.histogram.record(number, {"number": number, "le": "own"})
            scraped.counter.add(1, {"number": str(number)})
    generate = exposition.generate_latest if write == "text" else openmetrics.generate_latest
    generate(scraped.registry)
    longest = []
    turn = pausing.Pace.turn

    def note(self):
        spans.append(time.thread_time() - since[0])
        turn(self)
        since[0] = time.thread_time()

    monkeypatch.setattr(pausing.Pace, "turn", note)
    gc.disable()
    try:
        # What else the machine does disturbs one, rarely each.
        for _ in range(5):
            spans, since = [], [time.thread_time()]
            generate(scraped.registry)
            spans.append(time.thread_time() - since[0])
            longest.append(max(spans))
    finally:
        gc.enable()
    assert len(spans) > 600 * 2 * 3 / 16
    assert min(longest) < 2e-3, longest
