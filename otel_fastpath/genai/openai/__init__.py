"""Our own instrumentation of the `openai` client: the whole of it, by the stock conventions.

On the surface that `opentelemetry-instrumentation-genai-openai` covers, spans, metrics and events are what that one
emits; docs/differences.md lists where they differ and why.
"""

from __future__ import annotations

from typing import Any, Final

from otel_fastpath import settings as config
from otel_fastpath import wrong_settings
from otel_fastpath.genai.openai import logfire, patches, stock_arguments
from otel_fastpath.genai.openai.by_stock import ByStock
from otel_fastpath.genai.openai.endpoints import STOCK as STOCK_ENDPOINTS
from otel_fastpath.genai.openai.realtime import sockets
from otel_fastpath.genai.openai.telemetry import CaptureSettings, OpenAITelemetry, TelemetryScope
from otel_fastpath.patching import interpreter
from otel_fastpath.wrapping.library import Library, Rival, Setup

__all__ = ["LIBRARY"]

STOCK: Final = "opentelemetry-instrumentation-genai-openai"
LONGEST: Final = 1 << 16
_STOCK_MODULE: Final = "opentelemetry.instrumentation.genai.openai"


def configure(setup: Setup) -> None:
    """Send the telemetry of calls where this setup says."""
    if setup.rival:
        scope = TelemetryScope(_STOCK_MODULE, interpreter.version(STOCK) or "")
    else:
        # The name of 0.2.0, from where this module stood: it is what users select by.
        scope = TelemetryScope("otel_fastpath.libraries.genai.openai", interpreter.version("otel-fastpath") or "")
    wanted = config.genai()
    settings = CaptureSettings(
        on_span=wanted.on_span,
        on_event=wanted.on_event,
        events=wanted.events,
        hook=_hook(setup.keywords.get("completion_hook"), wanted.hook),
        longest=_longest(setup.options),
    )
    by_stock = ByStock(setup.keywords, setup.providers) if setup.rival else None
    telemetry = OpenAITelemetry(scope, settings, setup.providers, STOCK_ENDPOINTS if setup.is_same else None, by_stock)
    patches.use(telemetry)
    sockets.use(telemetry)


def read(setup: Setup) -> None:
    """Read the settings, to tell of what is not valid; no hook is loaded."""
    config.genai()
    _longest(setup.options)


def stop() -> None:
    """Follow no further calls."""
    patches.use(None)
    sockets.use(None)


def _hook(given: Any, name: str) -> Any:
    """The completion hook that was given, or that of the environment variable; None where there is none."""
    if given is None and not name:
        return None
    try:
        from opentelemetry.util.genai import completion_hook as hooks  # noqa: PLC0415  # only where one is asked for
    except ImportError:
        expected = "no hook where opentelemetry-util-genai is not installed"
        wrong_settings.report("OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK", given or name, expected)
        return None
    hook = given or hooks.load_completion_hook()
    if isinstance(hook, hooks._NoOpCompletionHook):
        return None
    return hook if isinstance(hook, hooks._SafeCompletionHook) else hooks._SafeCompletionHook(hook)


def _longest(options: Any) -> int:
    """How many characters of a text of the content are kept: the option `content_length`."""
    setting, known = config.title("openai_options"), "content_length"
    if isinstance(options, dict):
        found = {str(name): value for name, value in options.items()}
    else:
        parts = wrong_settings.parts(setting, options, f"{known}=N")
        found = {name.strip(): value.strip() for name, _, value in (part.partition("=") for part in parts)}
    for name in sorted(found.keys() - {known}):
        wrong_settings.report(setting, name, f"{known}=N")
    value = found.get(known, LONGEST)
    try:
        longest = int(value)
    except (TypeError, ValueError, OverflowError):
        longest = -1
    if longest < 0:
        wrong_settings.report(f"{setting}, {known}", value, "a number of characters", f"{LONGEST} is used.")
        return LONGEST
    return longest


LIBRARY: Final = Library(
    name="openai",
    why="One span, its metrics and its event for each call of the openai client.",
    patches=(*patches.PATCHES, *sockets.PATCHES, *logfire.PATCHES),
    configure=configure,
    read=read,
    rivals=(
        Rival(
            "stock",
            f"{_STOCK_MODULE}:OpenAIInstrumentor",
            (f"{STOCK}>=1.3b0,<1.4", "opentelemetry-util-genai>=1.3b0,<1.4"),
            stock_arguments.given_keywords,
            beyond=("openai.socket.*",),
        ),
        Rival("v2", "opentelemetry.instrumentation.openai_v2:OpenAIInstrumentor"),
        Rival("traceloop", "opentelemetry.instrumentation.openai:OpenAIInstrumentor"),
        Rival("openinference", "openinference.instrumentation.openai:OpenAIInstrumentor"),
    ),
    entry_points=frozenset({"openai"}),
    stop=stop,
)
