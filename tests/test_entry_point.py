"""The entry point: only `opentelemetry-instrument` loads it. Tested in whole processes, as services start them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import pytest
from at_exit import without_stocks_lines
from disabled_instrumentations import all_but

import otel_fastpath
from otel_fastpath.instrumentor import FastpathInstrumentor
from otel_fastpath.settings import ENTRY_POINT

SCRIPTS = Path(sys.executable).parent
# What a service sees: whose span it gets, and what became of the patches.
PROGRAM = """
import json, sys
from opentelemetry import trace
with trace.get_tracer("service").start_as_current_span("request") as span:
    span.set_attribute("key", "value")
module = sys.modules.get("otel_fastpath.instrumentor")
rows = module.FastpathInstrumentor().status() if module else []
print(json.dumps({
    "span": type(span).__module__,
    "core": type(span).__mro__[1].__module__,
    "states": {row.name: row.state for row in rows},
    "ours": sorted(name for name in sys.modules if name.startswith("otel_fastpath")),
}))
"""
HARMLESS = """
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor

class Other(BaseInstrumentor):
    def instrumentation_dependencies(self):
        return ()

    def _instrument(self, **kwargs):
        pass

    def _uninstrument(self, **kwargs):
        pass
"""
# The order in which entry points are found is that of the folders on sys.path; this one wraps what we patch.
WRAPS_END = (
    HARMLESS
    + """
    def _instrument(self, **kwargs):
        from opentelemetry.sdk.trace import Span
        end = Span.end
        Span.end = lambda self, *args, **kwargs: end(self, *args, **kwargs)
"""
)


@pytest.fixture
def run(environ, tmp_path):
    """Runs the program under opentelemetry-instrument with these variables; returns its output and its stderr."""
    program = tmp_path / "service.py"
    program.write_text(PROGRAM)
    for name in [name for name in os.environ if name.startswith("OTEL_") and "START_LINE" not in name]:
        environ.delenv(name)

    def start(command=("opentelemetry-instrument",), **variables):
        settings = {
            "OTEL_TRACES_EXPORTER": "console",
            "OTEL_METRICS_EXPORTER": "none",
            "OTEL_LOGS_EXPORTER": "none",
            # On a busy machine the exporter's thread would print into the program's line.
            "OTEL_BSP_SCHEDULE_DELAY": "60000",
            "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": all_but("fastpath"),
            **variables,
        }
        result = subprocess.run(
            [*(SCRIPTS / name for name in command), sys.executable, program],
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        first, *rest = result.stdout.splitlines()
        return json.loads(first), "\n".join(rest), without_stocks_lines(result.stderr)

    return start


def test_the_entry_point_is_declared():
    """The name that settings use refers to the class."""
    (entry,) = metadata.entry_points(group="opentelemetry_instrumentor", name=ENTRY_POINT)

    assert entry.load() is FastpathInstrumentor


def test_a_service_gets_cheaper_with_no_line_changed(run, core):
    """Its spans are the fast path's, and are exported."""
    seen, exported, stderr = run(OTEL_FASTPATH_CORE=core)

    assert seen["core"] == f"otel_fastpath.trace.spans.recorded{'_c' if core == 'c' else ''}"
    assert seen["states"]["tracer.start_span"] == "applied"
    assert json.loads(exported)["attributes"] == {"key": "value"}
    assert stderr == ""


@pytest.mark.parametrize("value", ["fastpath", pytest.param("asyncpg, fastpath", marks=pytest.mark.slow), "*"])
def test_disabled_by_name_nothing_of_it_is_loaded(run, value):
    """Stock OpenTelemetry, and none of our modules."""
    seen, exported, stderr = run(OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=value)

    assert seen["span"] == "opentelemetry.sdk.trace"
    assert seen["ours"] == []
    assert json.loads(exported)["attributes"] == {"key": "value"}
    assert stderr == ""


def test_a_disabled_sdk_stays_stock(run):
    """It is loaded, and leaves everything alone."""
    seen, exported, stderr = run(OTEL_SDK_DISABLED="true")

    assert seen["span"] == "opentelemetry.trace.span"
    assert set(seen["states"].values()) == {"off"}
    assert (exported, stderr) == ("", "")


def test_a_missing_core_is_one_line_and_the_service_runs(run, tmp_path):
    """If the requested core is missing, spans are stock and stderr has one line."""
    # An instrumentation that is loaded before us makes it so.
    write_instrumentation(
        tmp_path, "import sys\nsys.modules['otel_fastpath.trace.context.scope_c'] = None\n" + HARMLESS
    )

    seen, _, stderr = run(OTEL_FASTPATH_CORE="c", PYTHONPATH=str(tmp_path))

    assert seen["span"] == "opentelemetry.sdk.trace"
    assert stderr.count("\n") == 1
    assert "the c core was asked for and cannot be imported" in stderr


def write_instrumentation(folder, text):
    """An instrumentation whose entry point is found before ours: its folder comes first."""
    (folder / "other_instrumentation.py").write_text(text)
    info = folder / "other_instrumentation-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-instrumentation\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[opentelemetry_instrumentor]\nother = other_instrumentation:Other\n")


def test_an_instrumentation_that_patches_the_same_class_is_respected(run, tmp_path):
    """If it is loaded first, the patch of the method that it replaced is skipped; the others apply."""
    write_instrumentation(tmp_path, WRAPS_END)

    seen, exported, stderr = run(PYTHONPATH=str(tmp_path))

    assert seen["states"]["span.end"] == "skipped"
    assert seen["states"]["tracer.start_span"] == seen["states"]["span.set_attribute"] == "applied"
    assert json.loads(exported)["attributes"] == {"key": "value"}
    assert stderr == ""


def test_other_instrumentations_change_nothing(run):
    """The same patches are applied with all installed instrumentations and without them."""
    with_all, _, _ = run(OTEL_PYTHON_DISABLED_INSTRUMENTATIONS="")
    without, _, _ = run()

    assert with_all["span"] == without["span"]
    core_states = [
        {name: state for name, state in seen["states"].items() if name.startswith("trace")}
        for seen in (with_all, without)
    ]
    assert core_states[0] == core_states[1]
    assert set(core_states[0].values()) == {"applied"}


def test_without_the_command_nothing_happens(run):
    """Being installed does nothing by itself."""
    seen, _, stderr = run(command=())

    assert seen["ours"] == []
    assert stderr == ""


@pytest.fixture
def without_sdk(tmp_path, environ):
    """Runs Python where only OpenTelemetry's API is installed: a folder of links to everything else."""
    site = Path(sysconfig.get_paths()["purelib"])
    missing = ("sdk", "exporter", "distro", "test")
    farm = tmp_path / "site"
    (farm / "opentelemetry").mkdir(parents=True)
    for source in (*site.iterdir(), *(site / "opentelemetry").iterdir()):
        target = farm / source.relative_to(site)
        distribution = source.name.removeprefix("opentelemetry_")
        is_missing = (source.parent != site or distribution != source.name) and distribution.startswith(missing)
        if not (is_missing or target.exists() or source.suffix == ".pth"):
            target.symlink_to(source)
    # An editable install is elsewhere.
    ours = farm / "otel_fastpath"
    if not ours.exists():
        ours.symlink_to(Path(otel_fastpath.__file__).parent)
    environ.setenv("PYTHONPATH", str(farm))

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-S", *arguments], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
        )

    return run


def test_without_the_sdk_its_patches_wait(without_sdk):
    """The API's patches are applied, spans are no-ops as before, nothing raises, and one line names what is missing."""
    result = without_sdk("-c", "import otel_fastpath; otel_fastpath.FastpathInstrumentor().instrument()\n" + PROGRAM)

    seen = json.loads(result.stdout)
    assert seen["span"] == "opentelemetry.trace.span"
    assert seen["states"]["trace.use_span"] == "applied"
    assert seen["states"]["tracer.start_span"] == "waiting"
    assert result.stderr == ("OpenTelemetry's SDK is not installed: only the patches of its API are applied.\n")


def test_without_the_sdk_the_status_says_so(without_sdk):
    """The command works, with a note and without a version of the SDK."""
    document = json.loads(without_sdk("-m", "otel_fastpath", "status", "--json").stdout)

    assert document["distributions"]["opentelemetry-sdk"] is None
    assert document["distributions"]["opentelemetry-api"]
    (note,) = document["notes"]
    assert "OpenTelemetry's SDK cannot be imported: ModuleNotFoundError" in note
