"""The per-call function of `opentelemetry-instrumentation-urllib3`."""

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

_MODULE: Final = "opentelemetry.instrumentation.urllib3"
_diversions: Final = Diversions()


def _make(original: Any, _settings: Config) -> Any:
    hooks = hot.http_urllib3_hooks

    def find() -> Any:
        pool = sys.modules[_MODULE].urllib3.connectionpool.HTTPConnectionPool
        return getattr(inspect.getattr_static(pool, "urlopen", None), "_self_wrapper", None)

    return diverting(original, _diversions, find, hooks.make_urlopen)


PATCHES: Final = (
    Patch(
        name="urllib3.urlopen",
        target=f"{_MODULE}:_instrument",
        why="A call binds its arguments to a signature, which takes 298,000 instructions; here the four that are "
        "needed are read.",
        make=_make,
        requires=stock_sources.requires("urllib3"),
        sources=stock_sources.sources(
            f"{_MODULE}:_instrument",
            *stock_sources.SHARED,
            *stock_sources.SOCKETS,
        )
        | stock_sources.imported(_MODULE, "sanitize_method"),
        stock=STOCK["urllib3.urlopen"],
        decorators=frozenset({"contextlib"}),
        diversions=_diversions,
        budgets=("urllib3",),
    ),
)
