"""A pytest plugin for stock's suites: activates what is asked for, and reports every test by its id.

It runs in the environment of the suites, without the rest of the harness. Two variables tell it what to do:
UPSTREAM_ACTIVATE, "stock", "fastpath" or "module:function" (a stand-in, called and asked for its `status()`), and
UPSTREAM_REPORT, the JSON file to write.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import logging
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

# Imported in every run, stock too: what is patched on import must be there even in a suite that has no use for it.
SUBJECTS = (
    "opentelemetry.sdk.trace.export",
    "opentelemetry.sdk.metrics.export",
    "opentelemetry.sdk._logs.export",
    "opentelemetry.exporter.otlp.proto.common.trace_encoder",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.exporter.otlp.proto.grpc.trace_exporter",
)
# Stock's trace tests reload this module after each of some tests. That makes new classes, which no patch knows: all
# tests after it would run stock. Nothing is decided when it is imported, so a reload is of no use to them; it is left
# out in every run, and the tests have to pass stock without it.
KEPT = frozenset({"opentelemetry.sdk.trace"})
# The worse of two reports on one test counts: setup, call, teardown and every subtest report on their own.
_BADNESS = ("passed", "skipped", "failed")
# pytest puts a hook of its own there around each test; exceptions are counted there without sys.monitoring.
PYTESTS_OWN = frozenset({"threading:excepthook"})


def pytest_configure(config: pytest.Config) -> None:
    """Activate, before any test is collected, and register the recorder."""
    what = os.environ["UPSTREAM_ACTIVATE"]
    said = _Said()
    logging.getLogger("otel_fastpath").addHandler(said)
    importlib.reload = functools.partial(_reload, importlib.reload)
    active = _activate(what)
    for name in SUBJECTS:
        importlib.import_module(name)
    recorder = Recorder(Path(os.environ["UPSTREAM_REPORT"]), active, said)
    config.pluginmanager.register(recorder, "upstream-recorder")


def _activate(what: str) -> Any:
    if what == "stock":
        return None
    if what == "fastpath":
        from otel_fastpath.instrumentor import FastpathInstrumentor

        instrumentor = FastpathInstrumentor()
        instrumentor.instrument()
        return instrumentor
    module, _, function = what.partition(":")
    return getattr(importlib.import_module(module), function)()


def _reload(really: Callable[[ModuleType], ModuleType], module: ModuleType) -> ModuleType:
    return module if module.__name__ in KEPT else really(module)


class _Said(logging.Handler):
    """Keeps what otel-fastpath logged, each message once: some of stock's tests turn logging upside down."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: dict[str, None] = {}

    def emit(self, record: logging.LogRecord) -> None:
        error = f" ({record.exc_info[1]!r})" if record.exc_info else ""
        self.lines[_plain(f"{record.levelname} {record.name}: {record.getMessage()}{error}")] = None


class Recorder:
    """Collects outcomes and the state of the patches, and writes them when the session ends."""

    def __init__(self, path: Path, active: Any, said: _Said) -> None:
        self._path = path
        self._active = active
        self._said = said
        self._outcomes: dict[str, str] = {}
        self._causes: dict[str, str] = {}
        self._in_place = {target: _standing_at(target) for target in self._targets()}
        self._out_of_place: dict[str, str] = {}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note what could not be collected: its tests would be missing without a word."""
        if report.failed:
            self._note(f"{report.nodeid} (collection)", "failed", report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note one phase of a test."""
        if report.when == "call" or report.outcome != "passed":
            self._note(report.nodeid, report.outcome, report)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Look after each test whether every patch still stands: what follows would not be run under us."""
        moved = [
            target
            for target, value in self._in_place.items()
            if target not in self._out_of_place and _standing_at(target) is not value and not _is_put_back(target)
        ]
        # A wrapper that defers to the instrumentation under test takes its patches away itself, and says so.
        self._out_of_place |= dict.fromkeys(set(moved) & set(self._targets()) if moved else (), nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the report, and fail a session in which nothing was patched.

        Raises:
            pytest.UsageError: Nothing was patched although something was activated.
        """
        rows = self._rows()
        report = {
            "outcomes": self._outcomes,
            "causes": self._causes,
            "out_of_place": self._out_of_place,
            "patches": rows,
            "span_from": _origin_of_a_span(),
            "faults": _faults(),
            "said": list(self._said.lines),
            "imported": sorted(name for name in sys.modules if name.partition(".")[0] == "otel_fastpath"),
            "exit_status": int(exitstatus),
        }
        scratch = self._path.with_suffix(".part")
        scratch.write_text(json.dumps(report))
        scratch.replace(self._path)
        if self._active is not None and not any(row["state"] == "applied" for row in rows):
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
            raise pytest.UsageError("no patch is applied: these results say nothing")

    def _rows(self) -> list[dict[str, str]]:
        rows: Sequence[Any] = self._active.status() if self._active is not None else ()
        # `state` may be an enumeration of strings: its value is the word.
        return [
            {"name": row.name, "state": str(getattr(row.state, "value", row.state)), "reason": str(row.reason)}
            for row in rows
        ]

    def _targets(self) -> list[str]:
        rows: Sequence[Any] = self._active.status() if self._active is not None else ()
        applied = [row.target for row in rows if str(getattr(row.state, "value", row.state)) == "applied"]
        return [target for target in applied if target not in PYTESTS_OWN]

    def _note(self, test: str, outcome: str, report: Any) -> None:
        key = _plain(test)
        before = self._outcomes.get(key, "passed")
        self._outcomes[key] = max(before, outcome, key=_BADNESS.index)
        if outcome == "failed":
            self._causes.setdefault(key, _last_lines(report))


def _plain(text: str) -> str:
    """The text without addresses, which differ from run to run, also in the ids of parametrised tests."""
    return re.sub(r"0x[0-9a-f]+", "0x", text)


def _standing_at(target: str) -> Any:
    """What stands at "module:Class.attribute", unbound; None where the module or a part of the path is gone."""
    module, _, path = target.partition(":")
    value: Any = sys.modules.get(module)
    for part in path.split("."):
        value = inspect.getattr_static(value, part, None)
    return value


def _is_put_back(target: str) -> bool:
    """Whether what stands there is a replacement of ours again, made anew."""
    swap = sys.modules.get("otel_fastpath.patching.swapping.swap")
    value = _standing_at(target)
    return swap is not None and swap.seen_through(value) is not value


def _last_lines(report: Any) -> str:
    text = str(report.longrepr)
    wrong = [line[2:].strip() for line in text.splitlines() if line.startswith("E ")]
    return " | ".join(wrong[:3])[:400] if wrong else text[-400:]


def _origin_of_a_span() -> str:
    """The module whose class a plain provider's span has, after all that the tests did."""
    from opentelemetry.sdk.trace import TracerProvider

    provider = TracerProvider(shutdown_on_exit=False)
    return type(provider.get_tracer("upstream").start_span("probe")).__module__


def _faults() -> dict[str, int]:
    """The exceptions in our own code that fell back to stock's: place -> number."""
    module = sys.modules.get("otel_fastpath.patching.faults")
    return dict(module.counts()) if module is not None else {}
