"""The route of a request in FastAPI and Starlette, found without asking each route of the application.

Upstream's instrumentations ask one route after the other, which the framework then does again. Here the routes are kept
by the first segment of their paths, if that has no parameter; the table is made again when the routes change.
Compiled as `routes_c`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled.helpers import get_item
from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_PLACE: Final = "the route of a request"
_TABLE: Final = "_otel_fastpath_routes"


class Framework:
    """What one framework's routes are, and how upstream's instrumentation of it asks them.

    Args:
        flatten: Returns the routes that can be matched, from the application's.
        ask: Whether a route matches a request.
        plain: The functions `matches` that compare `path_regex` and `methods`, and nothing else.
        path: Returns the part of a request's path that routes match.
        pattern: Returns the regular expression of a route's path.
        full: What `ask` returns first for a route that matches.
        partial: What it returns for a route that matches but for the method.
    """

    __slots__ = ("ask", "flatten", "full", "partial", "path", "pattern", "plain")

    def __init__(
        self,
        flatten: Callable[[Sequence[Any]], Iterable[Any]],
        ask: Callable[[Any, Any], tuple[Any, Any]],
        plain: frozenset[Any],
        path: Callable[[Any], str],
        pattern: Callable[[str], str],
        full: Any,
        partial: Any,
    ) -> None:
        self.flatten, self.ask, self.plain = flatten, ask, plain
        self.path, self.pattern, self.full, self.partial = path, pattern, full, partial


class Table:
    """The routes of one application.

    Args:
        routes: The application's routes.
        framework: What it is made with.
    """

    __slots__ = ("_all", "_by_segment", "_elsewhere", "_framework", "_included", "_routes")

    def __init__(self, routes: Sequence[Any], framework: Framework) -> None:
        # First, so that a change while the table is made is noticed.
        self._routes = list(routes)
        self._included = [(router, router.effective_candidates()) for router in _included(routes)]
        self._framework = framework
        segments: set[str] = set()
        found: list[tuple[str | None, tuple[Any, bool]]] = []
        for flattened in framework.flatten(routes):
            route = getattr(flattened, "_effective_route", flattened)
            is_plain = getattr(type(route), "matches", None) in framework.plain and hasattr(route, "path_regex")
            entry = (route if is_plain else flattened, is_plain)
            segment = _static_segment(route, framework) if is_plain else None
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
        if self._routes != routes:
            return False
        for router, candidates in self._included:  # noqa: SIM110  # a generator takes longer
            if router.effective_candidates() is not candidates:
                return False
        return True

    def path(self, scope: Any) -> str | None:
        """The path of the first route that matches, or else of the last one that matches but for the method."""
        framework = self._framework
        found: str | None = None
        is_http = scope["type"] == "http"
        path = framework.path(scope)
        for route, is_plain in self._candidates(path):
            if is_plain:
                if not is_http or not route.path_regex.match(path):
                    continue
                found = route.path
                if not (methods := route.methods) or scope["method"] in methods:
                    break
            else:
                match, _ = framework.ask(route, scope)
                if match == framework.full:
                    # Routes of `Host` have no path.
                    found = getattr(route, "path", scope.get("path"))
                    break
                if match == framework.partial:
                    found = route.path
        return found

    def _candidates(self, path: str) -> list[tuple[Any, bool]]:
        # A `$` in a pattern also matches before a line break at the end.
        if path[:1] != "/" or "\n" in path:
            return self._all
        end = path.find("/", 1)
        found = self._by_segment.get(path[1:] if end < 0 else path[1:end])
        return self._elsewhere if found is None else found


def _included(routes: Iterable[Any]) -> Iterable[Any]:
    """The routers that FastAPI has included, with those inside of them."""
    for route in routes:
        if hasattr(route, "effective_candidates"):
            yield route
            yield from _included(route.effective_candidates())


def _static_segment(route: Any, framework: Framework) -> str | None:
    """The first segment of the route's path; None if the pattern may match others, too."""
    path = route.path
    if path[:1] != "/" or framework.pattern(path) != route.path_regex.pattern:
        return None
    segment: str = path.split("/", 2)[1]
    return None if "{" in segment or "}" in segment or "\n" in path else segment


def route_of(scope: Any, original: Callable[[Any], str | None], framework: Framework) -> str | None:
    """The path of the route of a request, or None, as upstream's `_get_route_details` returns it.

    Args:
        scope: The request.
        original: Upstream's function.
        framework: What the application is made with.
    """
    try:
        app = scope["app"]
        routes = app.routes
        table = get_item(vars(app), _TABLE)
        if type(table) is not Table or not table.is_current(routes):
            table = vars(app)[_TABLE] = Table(routes, framework)
    except Exception as error:
        faults.report(_PLACE, error)
        return original(scope)
    try:
        found: str | None = table.path(scope)
    except Exception as error:
        faults.absorb(_PLACE, error)
        return original(scope)
    return found
