"""The stock instrumentation of ASGI: `opentelemetry.instrumentation.asgi`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.http.instrumenting import forget_plans
from otel_fastpath.http.stock_functions import STOCK
from otel_fastpath.http.stock_sources import KNOWN, imported, requires, sources
from otel_fastpath.patching.patch import Patch
from otel_fastpath.patching.sources.guard import are_known
from otel_fastpath.wrapping import tracers

if TYPE_CHECKING:
    from otel_fastpath.settings import Config

_MODULE: Final = "opentelemetry.instrumentation.asgi"
_FASTAPI: Final = "opentelemetry.instrumentation.fastapi"
_STARLETTE: Final = "opentelemetry.instrumentation.starlette"
# Those whose applications have tables of routes.
_frameworks: Final[list[Any]] = []


def _make_call(original: Any, _settings: Config) -> Any:
    tracers.watch()
    # Imported here: it imports what it patches.
    return hot.http_asgi_serving.bind_call(original)


def _make_fastapi_route(original: Any, _settings: Config) -> Any:
    from fastapi import routing  # noqa: PLC0415  # only where it is being patched
    from starlette.routing import Route  # noqa: PLC0415  # likewise

    def flatten(routes: list[Any]) -> Any:
        # Looked up at each call, as stock does. Older releases of stock have no such function.
        return original.__globals__.get("_flatten_routes", iter)(routes)

    def ask(route: Any, scope: Any) -> Any:
        return Route.matches(route, scope) if isinstance(route, Route) else route.matches(scope)

    # FastAPI has contexts of routes since 0.137.
    own = [getattr(routing, name, None) for name in ("APIRoute", "_EffectiveRouteContext")]
    return _finding_routes(original, "fastapi", flatten, ask, (Route, *filter(None, own)))


def _make_starlette_route(original: Any, _settings: Config) -> Any:
    from starlette.routing import Route  # noqa: PLC0415  # only where it is being patched

    def ask(route: Any, scope: Any) -> Any:
        return route.matches(scope)

    return _finding_routes(original, "starlette", iter, ask, (Route,))


def _finding_routes(original: Any, name: str, flatten: Any, ask: Any, kinds: tuple[Any, ...]) -> Any:
    from starlette._utils import get_route_path  # noqa: PLC0415  # only where it is being patched
    from starlette.routing import Match  # noqa: PLC0415  # likewise

    routes = hot.http_asgi_routes
    framework = routes.Framework(
        name=name,
        flatten=flatten,
        ask=ask,
        kinds=kinds,
        known=_known_matches(kinds),
        request_path=get_route_path,
        full=Match.FULL,
        partial=Match.PARTIAL,
    )
    _frameworks.append(framework)
    route_of = routes.route_of

    @functools.wraps(original)
    def _get_route_details(scope: Any) -> str | None:
        route: str | None = route_of(scope, original, framework)
        return route

    return _get_route_details


def _known_matches(kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    """The methods `matches` of these classes; empty if a source is not known, or if other code has replaced one."""
    known = sources(*(f"{kind.__module__}:{kind.__qualname__}.matches" for kind in kinds))
    # Nothing is known of a class that other code has put there: it need not be looked at.
    return tuple(kind.matches for kind in kinds) if all(known.values()) and are_known(known) else ()


def _forget_tables() -> None:
    while _frameworks:
        _frameworks.pop().tables.forget()


PATCHES: Final = (
    Patch(
        name="asgi.request",
        target=f"{_MODULE}:OpenTelemetryMiddleware.__call__",
        why="A request takes 470,000 instructions beside this package's SDK, most of them for texts that are the same"
        " in every request; here these are made once.",
        make=_make_call,
        undo=forget_plans,
        requires=requires("asgi"),
        sources=sources(f"{_MODULE}:OpenTelemetryMiddleware.__call__") | imported(_MODULE, "redact_url"),
        stock=STOCK["asgi.request"],
        budgets=("ASGI request",),
    ),
    Patch(
        name="fastapi.route",
        target=f"{_FASTAPI}:_get_route_details",
        why="Finding the route of a request asks each route, 21,000 instructions each; here only those whose path"
        " begins with the same segment.",
        make=_make_fastapi_route,
        undo=_forget_tables,
        requires=requires("fastapi"),
        sources=sources(f"{_FASTAPI}:_get_route_details") | KNOWN.sources_if_any(f"{_FASTAPI}:_flatten_routes"),
        budgets=("FastAPI request",),
    ),
    Patch(
        name="starlette.route",
        target=f"{_STARLETTE}:_get_route_details",
        why="Finding the route of a request asks each route; here only those whose path begins with the same segment.",
        make=_make_starlette_route,
        undo=_forget_tables,
        requires=requires("starlette"),
        sources=sources(f"{_STARLETTE}:_get_route_details"),
        budgets=("Starlette request",),
    ),
)
