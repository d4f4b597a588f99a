"""`instrument()` starts the counters with the rest, and `uninstrument()` stops them."""

from __future__ import annotations

import pytest

pytest.importorskip("otel_fastpath.exceptions.callbacks_c", reason="the compiled callback is not built")

PROGRAM = """
import os
os.environ.update({environ})
from otel_fastpath import FastpathInstrumentor, exceptions
instrumentor = FastpathInstrumentor()
instrumentor.instrument({keywords})
(row,) = [row for row in instrumentor.status() if row.name == "exceptions"]
print(exceptions.is_counting(), row.state.value, row.reason, sep=" | ")
try: raise LookupError
except LookupError: pass
print({{count.type: count.handled for count in exceptions.snapshot()}})
instrumentor.uninstrument()
(row,) = [row for row in instrumentor.status() if row.name == "exceptions"]
print(exceptions.is_counting(), row.state.value, row.reason, sep=" | ")
"""
OFF = "False | off | uninstrumented"


@pytest.mark.parametrize(
    ("environ", "keywords", "expected"),
    [
        ({}, "", ["False | off | telemetry=same: counting exceptions was not asked for", "{}", OFF]),
        ({}, "telemetry='full'", ["True | applied | ", "{'LookupError': None}", OFF]),
        ({"OTEL_FASTPATH_TELEMETRY": "full"}, "", ["True | applied | ", "{'LookupError': None}", OFF]),
        ({"OTEL_FASTPATH_EXCEPTIONS": "code"}, "", ["True | applied | ", "{'LookupError': None}", OFF]),
        ({"OTEL_FASTPATH_TELEMETRY": "full"}, "exceptions='off'", ["False | off | switched off", "{}", OFF]),
        ({"OTEL_FASTPATH_EXCEPTIONS": "handled"}, "", ["True | applied | ", "{'LookupError': 1}", OFF]),
        (
            {"OTEL_FASTPATH_EXCEPTIONS": "off"},
            "exceptions='raised'",
            ["True | applied | ", "{'LookupError': None}", OFF],
        ),
        ({"OTEL_FASTPATH_EXCEPTIONS": "off"}, "", ["False | off | switched off", "{}", OFF]),
        (
            {"OTEL_FASTPATH_DISABLED": "exceptions"},
            "",
            ["False | off | disabled by setting (exceptions)", "{}", OFF],
        ),
        ({"OTEL_SDK_DISABLED": "true"}, "", ["False | off | OTEL_SDK_DISABLED is true", "{}", OFF]),
    ],
)
def test_settings_decide(run_python, environ, keywords, expected):
    """On if asked for, unless switched off, in any of the ways that there are; the status says which."""
    found = run_python(PROGRAM.format(environ=environ, keywords=keywords))
    assert [line.rstrip() for line in found.splitlines()] == [line.rstrip() for line in expected]


def test_the_meter_provider_of_instrument_is_used(run_python):
    """Whoever hands `instrument` a meter provider finds the metric there."""
    found = run_python("""
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader
        from otel_fastpath import FastpathInstrumentor
        reader = InMemoryMetricReader()
        provider = MeterProvider(metric_readers=[reader], shutdown_on_exit=False)
        FastpathInstrumentor().instrument(meter_provider=provider, exceptions="raised")
        try: raise LookupError
        except LookupError: pass
        metrics = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
        print([metric.name for metric in metrics])
    """)
    assert found == "['cpython.exceptions']"


def test_who_starts_them_in_code_keeps_them(run_python):
    """With the same telemetry as before, `instrument()` and `uninstrument()` leave the service's own counters alone."""
    found = run_python("""
        from otel_fastpath import FastpathInstrumentor, exceptions
        exceptions.start(exceptions.Settings())
        FastpathInstrumentor().instrument()
        try: raise LookupError
        except LookupError: pass
        print(exceptions.is_counting(), [count.type for count in exceptions.snapshot() if "Lookup" in count.type])
        FastpathInstrumentor().uninstrument()
        print(exceptions.is_counting())
    """)
    assert found.split("\n") == ["True ['LookupError']", "True"]
