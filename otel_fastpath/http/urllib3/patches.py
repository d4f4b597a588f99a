"""The per-call function of `opentelemetry-instrumentation-urllib3`."""

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

_MODULE: Final = "opentelemetry.instrumentation.urllib3"
_diversions: Final = Diversions()


def _make(original: Any, _settings: Config) -> Any:
    hooks = hot.http_urllib3_hooks

    def find() -> Any:
        pool = sys.modules[_MODULE].urllib3.connectionpool.HTTPConnectionPool
        return getattr(inspect.getattr_static(pool, "urlopen", None), "_self_wrapper", None)

    return diverting(original, _diversions, find, hooks.make_urlopen)


PATCHES: Final = (
    client_patch(
        "urllib3.urlopen",
        f"{_MODULE}:_instrument",
        "A call binds its arguments to a signature, which takes 298,000 instructions; here the four that are "
        "needed are read.",
        _make,
        _diversions,
        "urllib3",
        further=SOCKETS,
        helpers=("sanitize_method",),
    ),
)
