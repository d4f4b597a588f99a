"""A process says that it is instrumented: a line in the log and, with full telemetry, a metric of the patches."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from importlib import metadata

import pytest
from newer_releases import older
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from otel_fastpath import own_metrics
from otel_fastpath.status import presence

VERSION = metadata.version("otel-fastpath")


@pytest.fixture(autouse=True)
def new_process():
    """Nothing was said yet, and nobody reads the counts."""
    presence.forget()
    yield
    presence.stop()


@pytest.fixture
def provider():
    """A provider with a reader, and a function that reads the metric's points from it: state -> value."""
    reader = InMemoryMetricReader()
    made = MeterProvider([reader], shutdown_on_exit=False)

    def read():
        data = reader.get_metrics_data()
        found = (
            [] if data is None else [m for each in data.resource_metrics for s in each.scope_metrics for m in s.metrics]
        )
        points = [point for metric in found if metric.name == presence.NAME for point in metric.data.data_points]
        return {point.attributes[presence.STATE]: point.value for point in points}

    yield made, read
    made.shutdown()


def counted(instrumentor):
    """State -> the number of patches in the status."""
    states = [row.state.value for row in instrumentor.status()]
    return {state: states.count(state) for state in ("applied", "skipped", "waiting")}


def said(logged):
    """The lines about this process."""
    return [line for line in logged(logging.INFO) if line.startswith("otel-fastpath ")]


def test_one_line_says_what_is_patched(instrumentor, core, logged):
    """The version, the build and the counts of the status; once per process, whatever is instrumented again."""
    instrumentor.instrument(core=core)
    counts = counted(instrumentor)
    instrumentor.uninstrument()
    instrumentor.instrument(core=core)

    build = {"c": "compiled", "py": "pure Python"}[core]
    numbers = "{applied} patches applied, {skipped} skipped".format_map(counts)
    assert counts["applied"] > 0
    assert said(logged) == [f"otel-fastpath {VERSION}: {build}, {numbers}"]


def test_the_line_says_why_nothing_is_patched(instrumentor, environ, logged):
    """A service that was switched off says so."""
    environ.setenv("OTEL_SDK_DISABLED", "true")

    instrumentor.instrument()

    assert said(logged) == [f"otel-fastpath {VERSION}: off, OTEL_SDK_DISABLED is true"]


@pytest.mark.parametrize("is_wanted", [False, True])
def test_nothing_is_counted_for_a_log_that_nobody_reads(caplog, capsys, is_wanted):
    """The level of the logger is asked first."""
    caplog.set_level(logging.WARNING, logger="otel_fastpath")

    presence.say(lambda: pytest.fail("counted"), "", is_wanted=is_wanted)

    assert caplog.records == []
    assert capsys.readouterr() == ("", "")


LOGGED = "INFO otel_fastpath "


@pytest.mark.parametrize(
    ("before", "value", "expected"),
    [
        ("logging.basicConfig(level='WARNING', format=FORMAT)", "off", []),
        ("logging.basicConfig(level='INFO', format=FORMAT)", "off", [LOGGED]),
        ("logging.basicConfig(level='INFO', format=FORMAT)", "", [LOGGED]),
        ("logging.basicConfig(level='WARNING', format=FORMAT)", "", [""]),
        ("", "", [""]),
        ("", "on", [""]),
        # A back end's handler: nobody who looks at the process sees its records.
        ("logging.basicConfig(level='INFO', handlers=[logging.NullHandler()])", "", [""]),
        ("logging.getLogger('otel_fastpath').setLevel('WARNING')", "", []),
        ("sys.stderr = None", "", []),
    ],
)
def test_the_line_is_seen_once(environ, before, value, expected):
    """Nothing on stdout; on stderr, what the service's own logging writes there, or the line."""
    program = f"""
import logging, sys
FORMAT = "%(levelname)s %(name)s %(message)s"
{before}
from otel_fastpath import FastpathInstrumentor
for _ in range(2):
    FastpathInstrumentor().instrument()
    FastpathInstrumentor().uninstrument()
"""
    environ.setenv("OTEL_FASTPATH_START_LINE", value)
    environ.delenv("OTEL_FASTPATH_CORE", raising=False)
    result = subprocess.run([sys.executable, "-c", program], env=os.environ, capture_output=True, text=True, check=True)

    assert result.stdout == ""
    lines = result.stderr.splitlines()
    if older("opentelemetry-instrumentation", "0.62b0"):
        # A patch is left off there, which is told, too.
        lines = [line for line in lines if "Patch versions.schema_url is left off" not in line]
    assert [line.partition("otel-fastpath")[0] for line in lines] == expected
    assert all(f"otel-fastpath {VERSION}: " in line and " patches applied, " in line for line in lines)


def test_a_value_that_is_none_is_reported(instrumentor, environ, caplog):
    """Once, with what was expected."""
    environ.setenv("OTEL_FASTPATH_START_LINE", "quiet")

    instrumentor.instrument()

    [text] = [record.getMessage() for record in caplog.records if "START_LINE" in record.getMessage()]
    assert text == "OTEL_FASTPATH_START_LINE: 'quiet' is not valid; expected one of on, off. on is used."


def test_full_telemetry_counts_the_patches(instrumentor, core, provider):
    """As many as the status has; none when the process is no longer instrumented, and again when it is."""
    made, read = provider
    assert read() == {}
    instrumentor.instrument(core=core, telemetry="full", meter_provider=made)
    counts = counted(instrumentor)
    del counts["waiting"]

    assert read() == counts
    instrumentor.uninstrument()
    assert read() == {}
    instrumentor.instrument(core=core, telemetry="full", meter_provider=made)
    assert read() == counts


def test_the_same_telemetry_has_no_such_metric(instrumentor, provider):
    """The default."""
    made, read = provider
    instrumentor.instrument(meter_provider=made)

    assert read() == {}


@pytest.mark.parametrize("others", [False, True])
def test_a_global_provider_is_not_made_to_export(others):
    """Our own metrics alone are no reason to export, and are reported beside others."""

    class Reader(InMemoryMetricReader):
        """Not the kind that tests have."""

    made = MeterProvider([Reader()], shutdown_on_exit=False)
    for scope in own_metrics.SCOPES:
        made.get_meter(scope).create_counter("own").add(1)
    if others:
        made.get_meter("service").create_counter("served").add(1)

    assert own_metrics.has_use(made) == others
    made.shutdown()


def test_the_global_provider_reports_it(environ):
    """Also if it is set after the process was instrumented."""
    program = f"""
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from otel_fastpath import FastpathInstrumentor

class Reader(InMemoryMetricReader):
    pass

FastpathInstrumentor().instrument(telemetry="full")
reader = Reader()
metrics.set_meter_provider(MeterProvider([reader], shutdown_on_exit=False))
metrics.get_meter("service").create_counter("served").add(1)
(resource,) = reader.get_metrics_data().resource_metrics
print({presence.NAME!r} in {{metric.name for scope in resource.scope_metrics for metric in scope.metrics}})
"""
    for name in [name for name in os.environ if name.startswith("OTEL_") and "START_LINE" not in name]:
        environ.delenv(name)
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert result.stdout == "True\n"
