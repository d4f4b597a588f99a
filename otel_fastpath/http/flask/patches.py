"""The patches of `opentelemetry.instrumentation.flask`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.http.stock_functions import STOCK
from otel_fastpath.http.stock_sources import imported, requires, sources
from otel_fastpath.patching.patch import Patch
from otel_fastpath.wrapping.closures import Closures

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config

_MODULE: Final = "opentelemetry.instrumentation.flask"
_WSGI: Final = "opentelemetry.instrumentation.wsgi"


def _patch(name: str, factory: str, closure: str, function: Callable[[], Callable[..., Any]], why: str) -> Patch:
    closures = Closures(closure)

    def make(original: Any, _settings: Config) -> Any:
        return closures.take_over(original, function())

    return Patch(
        name=f"flask.{name}",
        target=f"{_MODULE}:{factory}",
        why=why,
        make=make,
        requires=requires("flask"),
        sources=sources(f"{_MODULE}:{factory}")
        | imported(_MODULE, "sanitize_method")
        | imported(_WSGI, "redact_url", "sanitize_method"),
        stock=STOCK[f"flask.{name}"],
        diversions=closures.diversions,
        needs_gil=False,
        budgets=("Flask request",),
    )


PATCHES: Final = (
    _patch(
        "request",
        "_rewrapped_app",
        "_wrapped_app",
        lambda: hot.http_flask_hooks.App,
        "Makes all attributes of the request for its metrics; here those of equal requests are made once.",
    ),
    _patch(
        "before_request",
        "_wrapped_before_request",
        "_before_request",
        lambda: hot.http_flask_hooks.BeforeRequest,
        "Makes all attributes of the request again, and sets them twice.",
    ),
    _patch(
        "teardown_request",
        "_wrapped_teardown_request",
        "_teardown_request",
        lambda: hot.http_flask_hooks.Teardown,
        "Looks at the request through Flask's proxy eight times; here once.",
    ),
)
