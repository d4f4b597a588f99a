"""The per-call function of `opentelemetry-instrumentation-requests`."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.http import stock_sources
from otel_fastpath.http.instrumenting import diverting
from otel_fastpath.http.stock import STOCK
from otel_fastpath.patching.diverting import Diversions
from otel_fastpath.patching.patch import Patch

if TYPE_CHECKING:
    from otel_fastpath.settings import Config

_MODULE: Final = "opentelemetry.instrumentation.requests"
_diversions: Final = Diversions()


def _make(original: Any, _settings: Config) -> Any:
    hooks = hot.http_requests_hooks

    def find() -> Any:
        return inspect.getattr_static(sys.modules[_MODULE].Session, "send", None)

    return diverting(original, _diversions, find, hooks.make_send)


PATCHES: Final = (
    Patch(
        name="requests.send",
        target=f"{_MODULE}:_instrument",
        why="A call parses its URL three times and enters four generators; here the attributes are made once for each "
        "method and server.",
        make=_make,
        requires=stock_sources.requires("requests"),
        sources=stock_sources.sources(
            f"{_MODULE}:_instrument",
            *stock_sources.SHARED,
            *stock_sources.SOCKETS,
        )
        | stock_sources.imported(_MODULE, "redact_url", "sanitize_method"),
        stock=STOCK["requests.send"],
        decorators=frozenset({"contextlib"}),
        diversions=_diversions,
        budgets=("requests",),
    ),
)
