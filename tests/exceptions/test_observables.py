"""The metrics that reach an exporter."""

from __future__ import annotations

import importlib

import pytest

pytest.importorskip("opentelemetry.sdk.metrics")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader


@pytest.fixture
def provider():
    """Makes meter providers; each gives what it would export."""
    made = []

    def make():
        reader = InMemoryMetricReader()
        made.append(MeterProvider(metric_readers=[reader], shutdown_on_exit=False))

        def collected():
            return collect(reader)

        collected.reader = reader
        return made[-1], collected

    yield make
    for each in made:
        each.shutdown()


def collect(reader):
    """Metric name -> attributes -> value."""
    data = reader.get_metrics_data()
    if data is None:
        return {}
    return {
        metric.name: {tuple(sorted(point.attributes.items())): point.value for point in metric.data.data_points}
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


def fail(kind=ValueError, times=1):
    """Raise and handle some."""
    for _ in range(times):
        try:
            raise kind  # noqa: TRY301  # the subject
        except kind:
            pass


def of(kind):
    """The attributes of a type's stream."""
    return (("error.type", kind),)


@pytest.fixture(autouse=True)
def fresh():
    """Forget the instruments of other tests, and what they last reported."""
    metrics = importlib.import_module("otel_fastpath.exceptions.observables")
    metrics._instruments.clear()
    metrics._global.clear()


def test_the_counter_is_named_after_the_stable_one_of_dotnet(start, provider):
    """Name, unit, monotonicity and attribute are those of `dotnet.exceptions`, for CPython."""
    meter_provider, collected = provider()
    start(meter_provider=meter_provider)
    fail()

    (scope,) = collected.reader.get_metrics_data().resource_metrics[0].scope_metrics
    (metric,) = scope.metrics
    assert scope.scope.name == "otel_fastpath.exceptions"
    assert (metric.name, metric.unit, metric.data.is_monotonic) == ("cpython.exceptions", "{exception}", True)
    assert {tuple(point.attributes) for point in metric.data.data_points} == {("error.type",)}


def test_every_collection_gives_the_total_so_far(start, provider):
    """The counter is cumulative, and read only when somebody collects."""
    meter_provider, collected = provider()
    start(meter_provider=meter_provider)
    fail(ValueError, 2)
    assert collected()["cpython.exceptions"][of("ValueError")] == 2
    fail(ValueError)
    assert collected()["cpython.exceptions"][of("ValueError")] == 3


def test_handled_is_a_metric_on_request(start, provider):
    """`handled` adds a counter of its own."""
    meter_provider, collected = provider()
    start(meter_provider=meter_provider)
    fail()
    assert "cpython.exceptions.handled" not in collected()
    start(meter_provider=meter_provider, mode="handled")
    fail(KeyError, 2)
    assert collected()["cpython.exceptions.handled"][of("KeyError")] == 2


def test_a_stream_never_goes_back(start, provider):
    """While a `finally` runs its exception looks handled; what was reported then is not taken back."""
    meter_provider, collected = provider()
    start(meter_provider=meter_provider, mode="handled")
    seen = []
    fail()
    try:
        try:
            raise ValueError
        finally:
            seen.append(collected()["cpython.exceptions.handled"][of("ValueError")])
    except ValueError:
        pass
    seen.append(collected()["cpython.exceptions.handled"][of("ValueError")])
    assert seen == [2, 2]


def test_code_attributes_on_request(start, provider):
    """With `code` there is a stream per raise site, with semantic conventions' names, and one for the rest."""
    meter_provider, collected = provider()
    start(meter_provider=meter_provider)
    fail()
    start(meter_provider=meter_provider, code=True)
    fail(ValueError, 3)
    streams = collected()["cpython.exceptions"]
    site = (
        ("code.file.path", __file__),
        ("code.function.name", "fail"),
        ("code.line.number", fail.__code__.co_firstlineno + 4),
        ("error.type", "ValueError"),
    )
    assert streams[site] == 3
    assert streams.get(of("ValueError"), 0) == 0


def test_after_a_stop_nothing_is_reported(start, provider, counters):
    """A stopped counter leaves no stale stream behind; after a restart it goes on, and no instrument is made twice."""
    meter_provider, collected = provider()
    start(meter_provider=meter_provider)
    fail()
    assert collected()["cpython.exceptions"][of("ValueError")] == 1
    counters.stop()
    assert collected().get("cpython.exceptions", {}) == {}
    counters.start(counters.Settings(), meter_provider=meter_provider)
    fail()
    assert collected()["cpython.exceptions"][of("ValueError")] == 2


def test_every_provider_gets_its_instrument_once(start, provider, caplog):
    """Restarts with the same provider do not make OpenTelemetry complain of duplicates."""
    first, of_first = provider()
    second, of_second = provider()
    for meter_provider in (first, second, first):
        start(meter_provider=meter_provider)
    fail()
    assert of_first()["cpython.exceptions"] == of_second()["cpython.exceptions"]
    assert not [record for record in caplog.records if "already" in record.getMessage()]


def test_a_provider_that_is_set_later_gets_it(run_python):
    """Counting may start before the application sets its meter provider."""
    found = run_python("""
        from otel_fastpath import exceptions
        exceptions.start(exceptions.Settings())
        from opentelemetry import metrics
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader
        class Reader(InMemoryMetricReader): pass
        reader = Reader()
        metrics.set_meter_provider(MeterProvider(metric_readers=[reader], shutdown_on_exit=False))
        metrics.get_meter("own").create_counter("own").add(1)
        for _ in range(3):
            try: raise LookupError
            except LookupError: pass
        # Again: the provider has the instrument.
        exceptions.start(exceptions.Settings(), meter_provider=metrics.get_meter_provider())
        points = [
            point.value
            for resource in reader.get_metrics_data().resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            for point in metric.data.data_points
            if point.attributes == {"error.type": "LookupError"}
        ]
        print(points)
    """)
    assert found == "[3]"


@pytest.mark.skipif(not hasattr(importlib.import_module("os"), "fork"), reason="forks")
@pytest.mark.parametrize("temporality", ["DELTA", "CUMULATIVE"])
def test_a_childs_stream_goes_on(run_python, temporality):
    """In a forked child the inherited meter sees no step back, and with deltas exactly the child's exceptions."""
    found = run_python(f"""
        import os
        from opentelemetry.sdk.metrics import MeterProvider, ObservableCounter
        from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
        from otel_fastpath import exceptions

        def fail(times):
            for _ in range(times):
                try: raise LookupError
                except LookupError: pass

        def value():
            (metric,) = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
            return [point.value for point in metric.data.data_points if point.attributes["error.type"] == "LookupError"]

        temporality = {{ObservableCounter: AggregationTemporality.{temporality}}}
        reader = InMemoryMetricReader(preferred_temporality=temporality)
        provider = MeterProvider(metric_readers=[reader], shutdown_on_exit=False)
        exceptions.start(exceptions.Settings(), meter_provider=provider)
        fail(5)
        print(value(), flush=True)
        if os.fork() == 0:
            fail(2)
            print(value(), flush=True)
            os._exit(0)
        os.wait()
        fail(1)
        print(value())
    """)
    assert found.split() == (["[5]", "[2]", "[1]"] if temporality == "DELTA" else ["[5]", "[7]", "[6]"])


GLOBAL = """
    from opentelemetry import metrics
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from otel_fastpath import FastpathInstrumentor

    class Reader(InMemoryMetricReader):
        pass

    def names():
        data = reader.get_metrics_data()
        found = data.resource_metrics if data is not None else ()
        return sorted(metric.name for each in found for scope in each.scope_metrics for metric in scope.metrics)

    reader = {reader}()
    provider = MeterProvider(metric_readers=[reader], shutdown_on_exit=False)
    {first}
    {second}
    try: raise LookupError
    except LookupError: pass
    print(names())
    counter = metrics.get_meter("own").create_counter("own")
    print(names())
    counter.add(1)
    print(names())
"""


@pytest.mark.parametrize("ours_first", [True, False])
@pytest.mark.parametrize(
    ("reader", "expected"),
    [("Reader", "[]\n[]\n['cpython.exceptions', 'own']"), ("InMemoryMetricReader", "[]\n[]\n['own']")],
)
def test_the_global_provider_does_not_begin_to_export_because_of_ours(run_python, ours_first, reader, expected):
    """Nor do tests that count what is in memory find more than their own."""
    steps = ["FastpathInstrumentor().instrument(exceptions='raised')", "metrics.set_meter_provider(provider)"]
    first, second = steps if ours_first else reversed(steps)

    assert run_python(GLOBAL.format(reader=reader, first=first, second=second)) == expected


@pytest.mark.parametrize("reader", ["Reader", "InMemoryMetricReader"])
def test_the_status_says_why_counts_are_not_reported(run_python, reader):
    """Exceptions are counted all the same; the row says what the global provider lacks."""
    found = run_python(
        """
        from opentelemetry import metrics
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader
        from otel_fastpath import FastpathInstrumentor

        class Reader(InMemoryMetricReader):
            pass

        def reason():
            (row,) = [row for row in instrumentor.status() if row.name == "exceptions"]
            return row.state.value, row.reason

        instrumentor = FastpathInstrumentor()
        instrumentor.instrument(exceptions="raised")
        print(reason())
        metrics.set_meter_provider(MeterProvider(metric_readers=[READER()], shutdown_on_exit=False))
        print(reason())
        metrics.get_meter("own").create_counter("own").add(1)
        print(reason())
    """.replace("READER", reader)
    )

    in_memory = "every metric reader of the global meter provider is an InMemoryMetricReader"
    first, last = in_memory, f"counted, and not reported: {in_memory}"
    if reader == "Reader":
        first, last = "the global meter provider has no other metrics yet", ""
    assert found.splitlines() == [
        "('applied', '')",
        f"('applied', 'counted, and not reported: {first}')",
        f"('applied', '{last}')",
    ]
