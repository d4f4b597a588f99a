"""The official instrumentation of ASGI: `opentelemetry.instrumentation.asgi`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath import compiled
from otel_fastpath.libraries.http.upstream import requires, sources
from otel_fastpath.patching.patch import Patch

if TYPE_CHECKING:
    from otel_fastpath.settings import Config

_MODULE: Final = "opentelemetry.instrumentation.asgi"
_FASTAPI: Final = "opentelemetry.instrumentation.fastapi"
_STARLETTE: Final = "opentelemetry.instrumentation.starlette"
# What a request rests on: the target, and the functions that it does not call any more, or only once for each shape.
_REQUEST: Final = tuple(
    f"{_MODULE}:{name}"
    for name in (
        "OpenTelemetryMiddleware.__call__",
        "OpenTelemetryMiddleware.__init__",
        "OpenTelemetryMiddleware._get_otel_receive",
        "OpenTelemetryMiddleware._get_otel_send",
        "OpenTelemetryMiddleware._set_send_span",
        "OpenTelemetryMiddleware._set_server_span",
        "ASGIGetter.get",
        "_collect_target_attribute",
        "get_default_span_details",
        "get_host_port_url_tuple",
        "set_status_code",
    )
)


def _make_call(original: Any, _settings: Config) -> Any:
    # Imported here: it imports what it patches.
    return compiled.hot("libraries.http.asgi.serving").bind_call(original)


def _make_fastapi_routes(original: Any, _settings: Config) -> Any:
    from fastapi import routing  # noqa: PLC0415  # only where it is being patched
    from starlette.routing import Route  # noqa: PLC0415  # likewise

    def ask(route: Any, scope: Any) -> Any:
        return Route.matches(route, scope) if isinstance(route, Route) else route.matches(scope)

    kinds = (Route, routing.APIRoute, getattr(routing, "_EffectiveRouteContext", Route))
    return _routes(original, original.__globals__.get("_flatten_routes", iter), ask, kinds)


def _make_starlette_routes(original: Any, _settings: Config) -> Any:
    from starlette.routing import Route  # noqa: PLC0415  # only where it is being patched

    def ask(route: Any, scope: Any) -> Any:
        return route.matches(scope)

    return _routes(original, iter, ask, (Route,))


def _routes(original: Any, flatten: Any, ask: Any, kinds: tuple[Any, ...]) -> Any:
    from starlette._utils import get_route_path  # noqa: PLC0415  # only where it is being patched
    from starlette.routing import Match, compile_path  # noqa: PLC0415  # likewise

    hot = compiled.hot("libraries.http.asgi.routes")
    plain = frozenset(kind.matches for kind in kinds)

    def pattern(path: str) -> str:
        return compile_path(path)[0].pattern

    framework = hot.Framework(flatten, ask, plain, get_route_path, pattern, Match.FULL, Match.PARTIAL)
    route_of = hot.route_of

    @functools.wraps(original)
    def _get_route_details(scope: Any) -> str | None:
        route: str | None = route_of(scope, original, framework)
        return route

    return _get_route_details


PATCHES: Final = (
    Patch(
        name="asgi.request",
        target=f"{_MODULE}:OpenTelemetryMiddleware.__call__",
        why="A request takes 470,000 instructions beside this package's SDK, most of them for texts that are the same"
        " in every request; here these are made once.",
        make=_make_call,
        # 0.61b0 does not ask whether HTTP instrumentation is suppressed.
        requires=requires("asgi", "0.62b0"),
        sources=sources(*_REQUEST),
        budgets=("ASGI request",),
    ),
    Patch(
        name="fastapi.route",
        target=f"{_FASTAPI}:_get_route_details",
        why="Finding the route of a request asks each route, 21,000 instructions each; here only those whose path"
        " begins with the same segment.",
        make=_make_fastapi_routes,
        requires=requires("fastapi"),
        sources=sources(f"{_FASTAPI}:_get_route_details", "starlette.routing:Route.matches"),
        budgets=("FastAPI request",),
    ),
    Patch(
        name="starlette.route",
        target=f"{_STARLETTE}:_get_route_details",
        why="Finding the route of a request asks each route; here only those whose path begins with the same segment.",
        make=_make_starlette_routes,
        requires=requires("starlette"),
        sources=sources(f"{_STARLETTE}:_get_route_details", "starlette.routing:Route.matches"),
        budgets=("Starlette request",),
    ),
)
