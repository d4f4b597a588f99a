"""The route of a request in FastAPI and Starlette, found without asking each route of the application.

Stock's instrumentations ask one route after the other, which the framework then does again. Here the routes are kept
by the first segment of their paths, if that has no parameter; the table is made again when the routes change. It is
looked at for changes only as far as stock goes: to the route that matches. Compiled as `routes_c`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled.helpers import address, get_item
from otel_fastpath.patching import faults
from otel_fastpath.patching.cache import keep
from otel_fastpath.patching.plans import Plan, PlanStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    # The route; whether it is plain, see `_is_plain`; its place among all.
    _Entry = tuple[Any, bool, int]

_PLACE: Final = "the route of a request"
_UNICODE: Final = int(re.UNICODE)
# After a slash, they make it optional, or repeat it.
_QUANTIFIERS: Final = frozenset("?*+{")


class Framework:
    """What one framework's routes are like, and how stock's instrumentation of it asks them.

    Args:
        name: Its name.
        flatten: Returns the routes that can be matched, from the application's.
        ask: Whether a route matches a request.
        kinds: The classes of routes whose `matches` compares `path_regex` and `methods`, and nothing else.
        known: These methods; empty if the source of one is not known.
        request_path: Returns the part of a request's path that routes match.
        full: What `ask` returns first for a route that matches.
        partial: What it returns for a route that matches but for the method.

    Attributes:
        key: Where an application keeps its table.
        tables: Keeps them there.
    """

    __slots__ = ("ask", "flatten", "full", "key", "kinds", "known", "partial", "request_path", "tables")

    def __init__(
        self,
        *,
        name: str,
        flatten: Callable[[list[Any]], Iterable[Any]],
        ask: Callable[[Any, Any], tuple[Any, Any]],
        kinds: tuple[Any, ...],
        known: tuple[Any, ...],
        request_path: Callable[[Any], str],
        full: Any,
        partial: Any,
    ) -> None:
        self.key = f"_otel_fastpath_{name}_routes"
        self.tables = PlanStore(self.key)
        self.flatten, self.ask, self.kinds, self.known = flatten, ask, kinds, known
        self.request_path, self.full, self.partial = request_path, full, partial


class RouteTable(Plan):
    """The routes of one application: another table is made for other routes.

    For the first segments that were asked for, it has the routes of that segment and those of any, in their order.

    Args:
        framework: What the application is made with.
        routes: The application's routes.
        matches: The methods `matches` of the framework's kinds, which other code may replace.
    """

    __slots__ = (
        *("_all", "_anywhere", "_by_segment", "_elsewhere", "_framework", "_included", "_matches", "_places"),
        *("_rests_on", "_routes"),
    )

    def __init__(self, framework: Framework, routes: list[Any], matches: tuple[Any, ...]) -> None:
        self._framework, self._routes, self._matches = framework, routes, matches
        # Before they are read, so that a change meanwhile is noticed.
        self._included: list[tuple[Any, Any]] = []
        # For each place, how many of the application's routes and of the included routers stock looks at before it.
        self._rests_on: list[tuple[int, int]] = []
        for number, route in enumerate(routes, 1):
            self._include(route, number)
        self._all: list[_Entry] = []
        # The places, among all, of the routes of one first segment, and of those of any.
        self._places: dict[str, list[int]] = {}
        self._anywhere: list[int] = []
        self._by_segment: dict[str, list[_Entry]] = {}
        plain = matches if matches == framework.known else ()
        for flattened in framework.flatten(routes):
            # What a `RouteContext` of FastAPI stands for.
            route = getattr(flattened, "_effective_route", flattened)
            is_plain = _is_plain(route, plain)
            entry = (route if is_plain else flattened, is_plain, len(self._all))
            segment = _static_segment(route.path, route.path_regex) if is_plain else None
            places = self._anywhere if segment is None else self._places.setdefault(segment, [])
            places.append(len(self._all))
            self._all.append(entry)
        if len(self._rests_on) != len(self._all):
            # Other code flattens them in its own way.
            self._rests_on = [(-1, 0)] * len(self._all)
        self._elsewhere = [self._all[place] for place in self._anywhere]

    def _include(self, route: Any, number: int) -> None:
        """Note the routers that FastAPI has included, with those inside of them, and what each route rests on."""
        if not hasattr(route, "effective_candidates"):
            self._rests_on.append((number, len(self._included)))
            return
        candidates = route.effective_candidates()
        self._included.append((route, candidates))
        for candidate in candidates:
            self._include(candidate, number)

    def is_of(self, framework: Framework, matches: tuple[Any, ...]) -> bool:
        """Whether it is a table of this framework, and of these methods `matches`."""
        return self._framework is framework and self._matches == matches

    def is_current(self, routes: list[Any], place: int) -> bool:
        """Whether the routes are still those of the table: as far as this place, or all for -1."""
        known = self._routes
        number, included = (-1, 0) if place < 0 else self._rests_on[place]
        if number < 0:
            number, included = len(known), len(self._included)
            if number != len(routes):
                return False
        if number > len(routes):
            return False
        # Routes that are equal can match differently.
        for index in range(number):
            if known[index] is not routes[index]:
                return False
        for index in range(included):
            router, candidates = self._included[index]
            if router.effective_candidates() is not candidates:
                return False
        return True

    def find(self, scope: Any) -> tuple[str | None, int]:
        """The path of the first route that matches, and its place; else that of the last but for the method, and -1."""
        framework = self._framework
        found: str | None = None
        is_http = scope["type"] == "http"
        path = framework.request_path(scope)
        for route, is_plain, place in self._candidates(path):
            if is_plain:
                if not is_http or not route.path_regex.match(path):
                    continue
                found = route.path
                if not (methods := route.methods) or scope["method"] in methods:
                    return found, place
            else:
                match, _ = framework.ask(route, scope)
                if match == framework.full:
                    # Routes of `Host` have no path.
                    return getattr(route, "path", scope.get("path")), place
                if match == framework.partial:
                    found = route.path
        return found, -1

    def _candidates(self, path: Any) -> list[_Entry]:
        """The routes that may match a path, in their order."""
        if type(path) is not str:
            return self._all
        text = path  # of the type that the compiled core reads without a look-up
        # A `$` in a pattern also matches before a line break at the end.
        if text[:1] != "/" or "\n" in text:
            return self._all
        end = text.find("/", 1)
        segment = text[1:] if end < 0 else text[1:end]
        found = self._by_segment.get(segment)
        return self._of(segment) if found is None else found

    def _of(self, segment: str) -> list[_Entry]:
        """The routes that may match a path with this first segment, which was not asked for yet, or not for long."""
        places = self._places.get(segment)
        if places is None:
            return self._elsewhere
        found = [self._all[place] for place in sorted([*places, *self._anywhere])]
        keep(self._by_segment, segment, found)
        return found


def _is_plain(route: Any, plain: tuple[Any, ...]) -> bool:
    """Whether the route matches by `path_regex` and `methods` alone, with one of these methods `matches`."""
    return (
        getattr(type(route), "matches", None) in plain
        and "matches" not in getattr(route, "__dict__", ())
        # FastAPI's contexts of other routes than its own have None.
        and isinstance(getattr(route, "path_regex", None), re.Pattern)
    )


def _static_segment(path: Any, regex: re.Pattern[Any]) -> str | None:
    """The first segment of every path that a route matches; None if there may be several.

    Args:
        path: The path of the route.
        regex: What matches; an application may have replaced the one that the framework made of the path.
    """
    text = regex.pattern
    if type(path) is not str or path[:1] != "/" or regex.flags != _UNICODE or "|" in text:
        return None
    segment = path.split("/", 2)[1]
    begin = "^/" + re.escape(segment)
    if "{" in segment or "}" in segment or "\n" in path or not text.startswith(begin):
        return None
    rest = text[len(begin) :]
    return segment if rest == "$" or (rest[:1] == "/" and rest[1:2] not in _QUANTIFIERS) else None


def route_of(scope: Any, original: Callable[[Any], str | None], framework: Framework) -> str | None:
    """The path of the route of a request, or None, as stock's `_get_route_details` returns it.

    Args:
        scope: The request.
        original: Stock's function.
        framework: What the application is made with.
    """
    try:
        app = scope["app"]
        kept = getattr(app, "__dict__", None)
        if type(kept) is dict:
            # A copy: the routes may change while the table is made.
            routes = list(app.routes)
            matches = tuple([kind.matches for kind in framework.kinds])
            found = get_item(kept, framework.key)
            if isinstance(found, RouteTable):
                table = found
                if table.owner == address(app) and table.is_of(framework, matches):
                    route, place = table.find(scope)
                    if table.is_current(routes, place):
                        return route
            table = RouteTable(framework, routes, matches)
            framework.tables.keep(table, app)
            return table.find(scope)[0]
    except Exception as error:
        faults.absorb(_PLACE, error)
    return original(scope)
