"""FastAPI's own telemetry: `fastapi.telemetry`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.http.instrumenting import forget_plans
from otel_fastpath.http.stock_functions import STOCK
from otel_fastpath.http.stock_sources import sources
from otel_fastpath.patching.patch import Patch

if TYPE_CHECKING:
    from otel_fastpath.settings import Config

_ASGI: Final = "fastapi.telemetry._asgi"
_API: Final = "fastapi.telemetry._api"
_REQUIRES: Final = ("fastapi>=0.142.4",)
_BUDGETS: Final = ("FastAPI's own telemetry",)

_CALL: Final = f"{_ASGI}:NativeTelemetry.__call__"
_SOURCES: Final = sources(_CALL, f"{_ASGI}:NativeTelemetry._instruments", f"{_ASGI}:_HeadersGetter.get")


def _make_call(original: Any, _settings: Config) -> Any:
    # Imported here: it imports what it patches.
    return hot.http_fastapi_requests.bind_call(original)


def _make_operation(original: Any, _settings: Config) -> Any:
    return hot.http_fastapi_operations.bind_operation(original)


def _make_legacy_otel(original: Any, _settings: Config) -> Any:
    from otel_fastpath.http.fastapi import stock_middleware  # noqa: PLC0415  # only where it is patched

    return stock_middleware.bind_legacy_otel(original)


PATCHES: Final = (
    Patch(
        name="fastapi_own.request",
        target=_CALL,
        why="Makes closures, three contexts and all attributes for each request, and parses the Host header each time;"
        " here what requests share is made once.",
        make=_make_call,
        undo=forget_plans,
        requires=_REQUIRES,
        sources=_SOURCES | sources(f"{_API}:_RequestTelemetry"),
        stock=STOCK["fastapi_own.request"],
        budgets=_BUDGETS,
    ),
    Patch(
        name="fastapi_own.operation",
        target=f"{_API}:_traced_operation",
        why="Each span of a part of a request is made in a generator; here in a class.",
        make=_make_operation,
        requires=_REQUIRES,
        sources=sources(f"{_API}:_traced_operation"),
        decorators=frozenset({"contextlib"}),
        budgets=_BUDGETS,
    ),
    Patch(
        name="fastapi_own.stack",
        target="fastapi.applications:_legacy_otel",
        why="Looks at the module and the name of each application around another, for each request; here at the name.",
        make=_make_legacy_otel,
        requires=_REQUIRES,
        sources=sources(f"{_ASGI}:_legacy_otel"),
        budgets=_BUDGETS,
    ),
)
