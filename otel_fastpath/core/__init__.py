"""The fast data path. It patches nothing: `otel_fastpath.sdk` puts it in place.

Each hot module exists twice from one source: `_span` (plain Python) and `_span_c` (the same file, compiled with the C
types of `_span_c.pxd`). `choose()` decides once which of them is used.

The way of a span: `_tracer` (what stands in the place of the tracer's methods) -> `_start` (parent, sampling, ids) ->
`_span` (attributes, events, end) -> `_plan` (the queue). `_scope` and `_api` make spans current. Wrappers of ours take
`tracer.start_span` and `start_as_current_span` like everybody: with the attributes as a dict at the start they are the
cheapest way, and where nothing is recorded the attributes are not looked at.
"""

from __future__ import annotations

import importlib.util
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

_logger = logging.getLogger(__name__)

COMPILED = "c"
PURE = "py"
# The compiled twins: all or none, as they take from one another.
TWINS = (
    "_api_c",
    "_attributes_c",
    "_bound_c",
    "_call_c",
    "_collect_c",
    "_events_c",
    "_exemplars_c",
    "_identity_c",
    "_metrics_c",
    "_models_c",
    "_openai_c",
    "_otlp_c",
    "_plan_c",
    "_propagation_c",
    "_reads_c",
    "_scope_c",
    "_series_c",
    "_span_c",
    "_sql_c",
    "_start_c",
    "_summary_c",
    "_targets_c",
    "_tracer_c",
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
            if importlib.util.find_spec(f"{__name__}.{name}") is None:
                raise ModuleNotFoundError(f"no module named {name}")
        # The one that does without the SDK, to see whether what is there can be loaded here.
        importlib.import_module(f"{__name__}._scope_c")
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
    """The hot module of this name (e.g. "_span"), in the chosen implementation or the one named."""
    suffix = "_c" if (core or implementation()[0]) == COMPILED else ""
    full_name = f"{__name__}.{name}{suffix}"
    if full_name not in _loaded:
        _loaded[full_name] = importlib.import_module(full_name)
    return _loaded[full_name]
