"""The patch of `opentelemetry.instrumentation.aiohttp_server`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.http.instrumenting import forget_plans
from otel_fastpath.http.stock_functions import STOCK
from otel_fastpath.http.stock_sources import imported, requires, sources
from otel_fastpath.patching.patch import Patch
from otel_fastpath.wrapping.closures import Closures

if TYPE_CHECKING:
    from otel_fastpath.settings import Config

_MODULE: Final = "opentelemetry.instrumentation.aiohttp_server"
_TARGET: Final = f"{_MODULE}:create_aiohttp_middleware"
_closures: Final = Closures("_middleware")


def _make_factory(original: Any, _settings: Config) -> Any:
    # Imported here: it imports what it patches.
    return _closures.take_over(original, hot.http_aiohttp_server_requests.make_middleware)


PATCHES: Final = (
    Patch(
        name="aiohttp_server.request",
        target=_TARGET,
        why="Makes all attributes of each request, and redacts its URL twice; here what requests share is made once.",
        make=_make_factory,
        requires=requires("aiohttp-server"),
        sources=sources(_TARGET) | imported(_MODULE, "redact_url", "redact_query_parameters", "sanitize_method"),
        stock=STOCK["aiohttp_server.request"],
        undo=forget_plans,
        diversions=_closures.diversions,
        needs_gil=False,
        budgets=("aiohttp.web request",),
    ),
)
