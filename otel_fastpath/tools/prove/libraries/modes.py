"""The ways in which instrumentations are set up: conventions, headers, hooks, and what is excluded."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

from opentelemetry.instrumentation import _semconv, utils

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence

    from otel_fastpath.tools.prove.program import ProgramRun
    from otel_fastpath.tools.prove.telemetry_kept import KeptTelemetry

_OPT_IN: Final = "OTEL_SEMCONV_STABILITY_OPT_IN"
_CAPTURED: Final = [
    f"OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_{side}_{message}"
    for side in ("SERVER", "CLIENT")
    for message in ("REQUEST", "RESPONSE")
]
_HEADERS: Final = {**dict.fromkeys(_CAPTURED, "x-.*,host,content-length")} | {
    "OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SANITIZE_FIELDS": "x-secret"
}
_MODES: Final[tuple[dict[str, str], ...]] = (
    {},
    {_OPT_IN: "http/dup,database/dup"},
    {_OPT_IN: "http,database", **_HEADERS, **dict.fromkeys(_CAPTURED, ".*")},
    {"OTEL_PYTHON_EXCLUDED_URLS": "items/9,health"},
    {_OPT_IN: "http,database", "OTEL_PYTHON_INSTRUMENTATION_HTTP_CAPTURE_ALL_METHODS": "true"},
    _HEADERS,
)


@contextmanager
def in_mode(run: ProgramRun) -> Iterator[None]:
    """Set the environment to that of one of the modes. The conventions are read again, as in a new process."""
    stability = _semconv._OpenTelemetrySemanticConventionStability
    with (
        mock.patch.dict(os.environ, _MODES[run.seed % len(_MODES)]),
        mock.patch.object(stability, "_initialized", new=False),
        mock.patch.object(stability, "_OTEL_SEMCONV_STABILITY_SIGNAL_MAPPING", {}),
    ):
        yield


def providers(telemetry: KeptTelemetry, *signals: str) -> dict[str, Any]:
    """The arguments of an instrumentor for these signals, or for all."""
    every = {"tracer": telemetry.tracers, "meter": telemetry.meters, "logger": telemetry.loggers}
    return {f"{signal}_provider": every[signal] for signal in signals or every}


@contextmanager
def setting_up(telemetry: KeptTelemetry) -> Iterator[None]:
    """In a span, as an application may be when it sets instrumentations up."""
    with telemetry.tracers.get_tracer("application").start_as_current_span("setting up"):
        yield


@contextmanager
def instrumented(
    run: ProgramRun, telemetry: KeptTelemetry, instrumentor: Any, *again: Callable[[], Any], **given: Any
) -> Iterator[None]:
    """While a library is instrumented. These steps are taken afterwards: they leave no telemetry.

    Args:
        run: The run.
        telemetry: Its telemetry.
        instrumentor: Stock's.
        again: The steps.
        given: Arguments for the instrumentor.
    """
    with setting_up(telemetry):
        instrumentor.instrument(**given)
    try:
        yield
    finally:
        with setting_up(telemetry):
            instrumentor.uninstrument()
    for each in again:
        run.attempt(each)


@contextmanager
def around(run: ProgramRun, telemetry: KeptTelemetry) -> Iterator[None]:
    """A span of the application's own, or suppressed instrumentations, or nothing, for each step of some programs."""
    kind = run.draw.randrange(4)
    with ExitStack() as entered:
        if kind == 1:
            entered.enter_context(telemetry.tracers.get_tracer("application").start_as_current_span("around"))
        elif kind == 2:  # noqa: PLR2004  # one of them
            entered.enter_context(utils.suppress_http_instrumentation())
        elif kind == 3 and run.draw.randrange(2):  # noqa: PLR2004  # likewise
            entered.enter_context(utils.suppress_instrumentation())
        yield


def hooks(run: ProgramRun, names: Sequence[str], *, may_fail: bool = False) -> dict[str, Any]:
    """Hooks with these names that set an attribute, with every second mode; every second of them may fail."""
    if run.seed % 2 == 0:
        return {}
    is_failing = may_fail and run.seed % 4 == 3  # noqa: PLR2004  # every second of them
    return {name: _hook_of(name, is_failing=is_failing) for name in names}


def _hook_of(name: str, *, is_failing: bool) -> Callable[..., Any]:
    """A hook whose attributes have its name: one that is not called any more must not look like another that is."""

    def hook(span: Any, *args: Any) -> None:
        if span is not None and span.is_recording():
            span.set_attribute(f"hooked.{name}", "yes")
            span.set_attribute(f"arguments.{name}", [type(each).__name__ for each in args])
        if is_failing:
            raise LookupError("a hook that fails")

    async def async_hook(span: Any, *args: Any) -> None:
        hook(span, *args)

    return async_hook if name.startswith("async_") else hook


def run_at_once(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine that does not wait returns: without a loop, which processes that are forked would share.

    Raises:
        RuntimeError: It waits.
    """
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise RuntimeError("it waits")


def excluded(run: ProgramRun) -> dict[str, Any]:
    """What a server's instrumentor is asked to exclude."""
    return {"excluded_urls": "items/[38],boom"} if run.seed % 4 == 3 else {}  # noqa: PLR2004  # one in four
