"""What importing and instrumenting loads, seen in a new process."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from newer_releases import sheds_spans

import otel_fastpath
from otel_fastpath.compiled import TWINS
from otel_fastpath.tools.budget import declare

NAME = "otel_fastpath"
DATABASES = tuple(
    name
    for name in ("asyncpg", "cassandra", "psycopg", "redis", "sqlalchemy", "sqlite3")
    if (Path(otel_fastpath.__file__).parent / "db" / name).is_dir()
)
APPLICATIONS = {"openai", "asyncpg", "psycopg", "redis", "sqlalchemy", "fastapi", "starlette", "httpx", "requests"}


def loaded_by(statement):
    """The modules that a new process has after this statement and did not have before, and its threads."""
    program = f"""
import json, sys, threading, importlib.util
before = set(sys.modules)
{statement}
print(json.dumps([sorted(set(sys.modules) - before), threading.active_count(), len(sys.meta_path)]))
"""
    result = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stderr == ""
    return json.loads(result.stdout)


def test_importing_the_package_does_no_work():
    """One module, which imports nothing of OpenTelemetry and starts nothing."""
    modules, threads, finders = loaded_by("import otel_fastpath")
    _, _, finders_before = loaded_by("pass")

    assert [name for name in modules if name.partition(".")[0] not in sys.stdlib_module_names] == [NAME]
    assert (threads, finders) == (1, finders_before)


@pytest.mark.parametrize(
    "statement",
    [
        "from otel_fastpath import FastpathInstrumentor",
        "from otel_fastpath import FastpathInstrumentor; FastpathInstrumentor().status()",
        "from otel_fastpath import FastpathInstrumentor; FastpathInstrumentor().instrument()",
    ],
)
def test_instrumenting_imports_no_sdk_and_no_library(statement):
    """A process that does not use the SDK, an exporter or a library does not import it because of this package."""
    modules, threads, _ = loaded_by(statement)

    foreign = [name for name in modules if name.startswith(("opentelemetry.sdk.trace", "opentelemetry.exporter"))]
    assert foreign == []
    assert APPLICATIONS.isdisjoint(modules)
    assert threads == 1


@pytest.mark.parametrize("kept", ["c", "py"])
def test_only_one_core_is_loaded(kept):
    """The SDK is patched with one of the twins of a hot module; the other one is not imported."""
    if kept == "c":
        pytest.importorskip("otel_fastpath.trace.spans.span_c", reason="the compiled core is not built")
    modules, _, _ = loaded_by(f"""
from otel_fastpath import FastpathInstrumentor
FastpathInstrumentor().instrument(core={kept!r})
import opentelemetry.sdk._logs.export, opentelemetry.sdk.metrics.export, opentelemetry.sdk.trace.export
import opentelemetry.instrumentation.logging.handler
""")

    found = {name for name in modules if name.startswith(f"{NAME}.")}
    twins = {f"{NAME}.{name.removesuffix('_c')}": f"{NAME}.{name}" for name in TWINS}
    pure, both = found & set(twins), {name for name in found if twins.get(name) in found}
    # Where `Facts` names what an instance does not have, with either core.
    assert both <= {f"{NAME}.compiled.facts"}
    assert len(pure) > 15 if kept == "py" else pure <= {f"{NAME}.compiled.facts"}


def test_no_detector_of_resources_runs():
    """Those of clouds ask a server. Importing the SDK's own modules runs them."""
    modules, _, _ = loaded_by("""
import opentelemetry.sdk.resources as resources
from otel_fastpath import FastpathInstrumentor

detect = resources.get_aggregated_resources

def watch(*arguments, **more):
    frame = sys._getframe()
    while frame.f_code.co_name != "<module>":
        frame = frame.f_back
    assert not frame.f_globals["__name__"].startswith("otel_fastpath"), frame
    return detect(*arguments, **more)

resources.get_aggregated_resources = watch
FastpathInstrumentor().instrument()
import opentelemetry.sdk._logs.export, opentelemetry.sdk.metrics.export, opentelemetry.sdk.trace.export
import opentelemetry.exporter.otlp.proto.http._log_exporter
import opentelemetry.exporter.otlp.proto.http.metric_exporter
import opentelemetry.exporter.otlp.proto.http.trace_exporter
""")

    assert "otel_fastpath.otlp.span_steps" in modules


@sheds_spans
def test_asgi_knows_the_tracers_without_another_library(core):
    """Otherwise, it would make the spans of messages although they are dropped."""
    program = f"""
from otel_fastpath import FastpathInstrumentor, compiled
FastpathInstrumentor().instrument(core={core!r})
import opentelemetry.instrumentation.asgi
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import DEFAULT_OFF
tracer = TracerProvider(sampler=DEFAULT_OFF, shutdown_on_exit=False).get_tracer("of the request")
assert compiled.load("wrapping.starting").drops_below(tracer, tracer.start_span("request"))
"""
    modules, _, _ = loaded_by(program)

    assert f"{NAME}.wrapping.call" not in modules


def test_known_sources_are_not_parsed():
    """The guards know the text of what they check; to parse it all takes as long as the rest of instrumenting."""
    read = ("opentelemetry-instrumentation", "opentelemetry-sdk", "fastapi")
    packages = declare.load_toml(Path(__file__).parents[1] / "uv.lock")["package"]
    locked = {(each["name"], each["version"]) for each in packages if each["name"].startswith(read)}
    names = {name for name, _ in locked}
    found = {(each.name, each.version) for each in metadata.distributions() if each.name in names}
    if not found <= locked:
        pytest.skip("other releases than the locked ones are installed, whose text may not be known")
    modules, _, _ = loaded_by(f"""
import importlib, pkgutil, warnings
import opentelemetry.instrumentation, opentelemetry.sdk._logs.export, opentelemetry.sdk.metrics.export
import opentelemetry.sdk.trace.export
warnings.simplefilter("ignore")
for each in pkgutil.iter_modules(opentelemetry.instrumentation.__path__, "opentelemetry.instrumentation."):
    try:
        importlib.import_module(each.name)
    except ImportError:
        pass
from otel_fastpath import FastpathInstrumentor
FastpathInstrumentor().instrument(telemetry="full", **dict.fromkeys({DATABASES!r}, "on"))
""")

    assert f"{NAME}.patching.sources.guard" in modules
    assert f"{NAME}.patching.syntax" not in modules


def test_unknown_names_of_the_package_are_attribute_errors():
    """As with any module."""
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        otel_fastpath.nothing  # noqa: B018  # reading it is the test
