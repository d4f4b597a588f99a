"""The per-call function of `opentelemetry-instrumentation-requests`."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.http.instrumenting import client_patch, diverting
from otel_fastpath.http.stock_sources import SOCKETS
from otel_fastpath.patching.swapping.diverting import Diversions

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
    client_patch(
        "requests.send",
        f"{_MODULE}:_instrument",
        "A call parses its URL three times and enters four generators; here the attributes are made once for each "
        "method and server.",
        _make,
        _diversions,
        "requests",
        further=SOCKETS,
    ),
)
