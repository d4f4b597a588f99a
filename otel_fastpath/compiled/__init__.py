"""Which build of the hot modules is used, and why. They patch nothing: `otel_fastpath.rooms` puts them in place.

Each hot module exists twice from one source: `trace.span` (plain Python) and `trace.span_c` (the same file, compiled
with the C types of `trace/span_c.pxd`). `choose()` decides once which of them is used.

The way of a span, in `trace`: `tracer` (what stands in the place of the tracer's methods) -> `start` (parent,
sampling, ids) -> `span` (attributes, events, end) -> `plan` (the queue). `scope` and `current_span` make spans
current. Wrappers of ours take `tracer.start_span` and `start_as_current_span` like everybody: with the attributes
as a dict at the start they are the cheapest way, and where nothing is recorded the attributes are not looked at.
"""

from __future__ import annotations

import importlib
import logging
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

_logger = logging.getLogger(__name__)

_PACKAGE = __name__.rpartition(".")[0]
COMPILED = "c"
PURE = "py"
# The compiled twins: all or none, as they take from one another.
TWINS = (
    "libraries.call_span_c",
    "libraries.db.sql_c",
    "libraries.db.summary_c",
    "libraries.genai.openai.calls_c",
    "libraries.genai.openai.prepared_calls_c",
    "libraries.genai.openai.reading_models_c",
    "libraries.genai.openai.reading_streams_c",
    "metrics.bound_c",
    "metrics.exemplars_c",
    "metrics.points_c",
    "metrics.recording_c",
    "metrics.series_c",
    "otlp.encoder_c",
    "trace.attributes_c",
    "trace.current_context_c",
    "trace.current_span_c",
    "trace.events_c",
    "trace.identity_c",
    "trace.plan_c",
    "trace.propagation_c",
    "trace.scope_c",
    "trace.span_c",
    "trace.start_c",
    "trace.tracer_c",
)

_chosen = ""
_why_not_compiled = ""
_loaded: dict[str, ModuleType] = {}


def choose(asked: str | None) -> None:
    """Decide which implementation `hot` gives: the one asked for by name, else the compiled one where it is there.

    Raises:
        ImportError: The implementation that was asked for cannot be imported.
    """
    global _chosen, _why_not_compiled
    if asked == PURE:
        _chosen, _why_not_compiled = PURE, "the pure core was asked for"
        return
    try:
        for name in TWINS:
            # Looked for where it lies: its room is not imported for that.
            folder = Path(__file__).parents[1].joinpath(*name.split(".")[:-1])
            if PathFinder.find_spec(f"{_PACKAGE}.{name}", [str(folder)]) is None:
                raise ModuleNotFoundError(f"no module named {name}")
        # The one that does without the SDK, to see whether what is there can be loaded here.
        importlib.import_module(f"{_PACKAGE}.trace.scope_c")
        _chosen, _why_not_compiled = COMPILED, ""
    except ImportError as error:
        if asked == COMPILED:
            raise
        if not isinstance(error, ModuleNotFoundError):
            _logger.warning("The compiled core is there but cannot be imported (%s); the pure one is used.", error)
        _chosen, _why_not_compiled = PURE, str(error)


def implementation() -> tuple[str, str]:
    """Which implementation is used, "c" or "py", and why it is not the compiled one."""
    if not _chosen:
        choose(None)
    return _chosen, _why_not_compiled


def hot(name: str, core: str | None = None) -> Any:
    """The hot module of this name (e.g. "trace.span"), in the chosen implementation or the one named."""
    suffix = "_c" if (core or implementation()[0]) == COMPILED else ""
    full_name = f"{_PACKAGE}.{name}{suffix}"
    if full_name not in _loaded:
        _loaded[full_name] = importlib.import_module(full_name)
    return _loaded[full_name]
