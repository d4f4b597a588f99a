"""The patch of `opentelemetry.instrumentation.wsgi`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.http.instrumenting import forget_plans
from otel_fastpath.http.stock_functions import STOCK
from otel_fastpath.http.stock_sources import imported, requires, sources
from otel_fastpath.patching.patch import Patch

if TYPE_CHECKING:
    from otel_fastpath.settings import Config

_MODULE: Final = "opentelemetry.instrumentation.wsgi"
_TARGET: Final = f"{_MODULE}:OpenTelemetryMiddleware.__call__"


def _make_call(original: Any, _settings: Config) -> Any:
    serve = hot.http_wsgi_middleware.serve

    @functools.wraps(original)
    def __call__(self: Any, environ: Any, start_response: Any) -> Any:  # noqa: N807  # the name of the replaced method
        return serve(original, self, environ, start_response)

    return __call__


PATCHES: Final = (
    Patch(
        name="wsgi.request",
        target=_TARGET,
        why="A request takes 350,000 instructions beside its span; here what requests have in common is made once.",
        make=_make_call,
        undo=forget_plans,
        requires=requires("wsgi"),
        sources=sources(_TARGET) | imported(_MODULE, "redact_url", "sanitize_method"),
        stock=STOCK["wsgi.request"],
        needs_gil=False,
        budgets=("WSGI request",),
    ),
)
