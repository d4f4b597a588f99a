"""The route of a request in FastAPI and Starlette, found without asking each route of the application.

Upstream's instrumentations ask one route after the other, which the framework then does again. Here the routes are kept
by the first segment of their paths, if that has no parameter; the table is made again when the routes change.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_TABLE: Final = "_otel_fastpath_routes"


@dataclass(frozen=True)
class _Starlette:
    """What is needed of it."""

    path: Callable[[Any], str]
    pattern: Callable[[str], str]
    full: Any
    partial: Any


@functools.cache
def _starlette() -> _Starlette:
    from starlette._utils import get_route_path  # noqa: PLC0415  # where it is patched, it is there
    from starlette.routing import Match, compile_path  # noqa: PLC0415  # likewise

    return _Starlette(get_route_path, lambda path: compile_path(path)[0].pattern, Match.FULL, Match.PARTIAL)


@dataclass(frozen=True)
class Finder:
    """How one of upstream's instrumentations finds the route of a request.

    Attributes:
        flatten: Returns the routes that can be matched, from the application's.
        ask: Whether a route matches a request.
        plain: The functions `matches` that compare `path_regex` and `methods`, and nothing else.
    """

    flatten: Callable[[Sequence[Any]], Iterable[Any]]
    ask: Callable[[Any, Any], tuple[Any, Any]]
    plain: frozenset[Any]


class Table:
    """The routes of one application.

    Args:
        routes: The application's routes.
        finder: How upstream finds a route among them.
    """

    __slots__ = ("_all", "_by_segment", "_elsewhere", "_finder", "_included", "_routes")

    def __init__(self, routes: Sequence[Any], finder: Finder) -> None:
        # First, so that a change while the table is made is noticed.
        self._routes = list(routes)
        self._included = [(router, router.effective_candidates()) for router in _included(routes)]
        self._finder = finder
        segments: set[str] = set()
        found: list[tuple[str | None, tuple[Any, bool]]] = []
        for flattened in finder.flatten(routes):
            route = getattr(flattened, "_effective_route", flattened)
            is_plain = getattr(type(route), "matches", None) in finder.plain and hasattr(route, "path_regex")
            entry = (route if is_plain else flattened, is_plain)
            segment = _static_segment(route) if is_plain else None
            if segment is not None:
                segments.add(segment)
            found.append((segment, entry))
        self._all = [entry for _, entry in found]
        self._elsewhere = [entry for segment, entry in found if segment is None]
        self._by_segment = {
            each: [entry for segment, entry in found if segment is None or segment == each] for each in segments
        }

    def is_current(self, routes: Sequence[Any]) -> bool:
        """Whether the application still has the same routes."""
        return self._routes == routes and all(
            router.effective_candidates() is candidates for router, candidates in self._included
        )

    def path(self, scope: Any) -> str | None:
        """The path of the first route that matches, or else of the last one that matches but for the method."""
        found: str | None = None
        is_http = scope["type"] == "http"
        path = _starlette().path(scope)
        for route, is_plain in self._candidates(path):
            if is_plain:
                if not is_http or not route.path_regex.match(path):
                    continue
                found = route.path
                if not route.methods or scope["method"] in route.methods:
                    break
            else:
                match, _ = self._finder.ask(route, scope)
                if match == _starlette().full:
                    # Routes of `Host` have no path.
                    found = getattr(route, "path", scope.get("path"))
                    break
                if match == _starlette().partial:
                    found = route.path
        return found

    def _candidates(self, path: str) -> list[tuple[Any, bool]]:
        # A `$` in a pattern also matches before a line break at the end.
        if path[:1] != "/" or "\n" in path:
            return self._all
        return self._by_segment.get(path.split("/", 2)[1], self._elsewhere)


def _included(routes: Iterable[Any]) -> Iterable[Any]:
    """The routers that FastAPI has included, with those inside of them."""
    for route in routes:
        if hasattr(route, "effective_candidates"):
            yield route
            yield from _included(route.effective_candidates())


def _static_segment(route: Any) -> str | None:
    """The first segment of the route's path; None if the pattern may match others, too."""
    path = route.path
    if path[:1] != "/" or _starlette().pattern(path) != route.path_regex.pattern:
        return None
    segment: str = path.split("/", 2)[1]
    return None if "{" in segment or "}" in segment or "\n" in path else segment


def bind_route_details(original: Callable[[Any], str | None], finder: Finder) -> Callable[[Any], str | None]:
    """Make the function that returns the route's path, or None, in place of upstream's `_get_route_details`."""

    @functools.wraps(original)
    def _get_route_details(scope: Any) -> str | None:
        try:
            app = scope["app"]
            routes = app.routes
            table = vars(app).get(_TABLE)
            if table is None or not table.is_current(routes):
                table = vars(app)[_TABLE] = Table(routes, finder)
        except Exception as error:
            faults.report("the route of a request", error)
            return original(scope)
        try:
            found: str | None = table.path(scope)
        except Exception as error:
            faults.absorb("the route of a request", error)
            return original(scope)
        return found

    return _get_route_details
