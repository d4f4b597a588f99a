"""Routes of FastAPI and Starlette: the same ones as stock finds, whatever the application's routes are."""

from __future__ import annotations

import re

import pytest
from fastapi import APIRouter, FastAPI, routing
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from newer_releases import older
from opentelemetry.instrumentation import fastapi as fastapi_instrumentation
from opentelemetry.instrumentation import starlette as starlette_instrumentation
from routecheck import KINDS, PATHS, answer, asked, endpoint, every
from starlette.applications import Starlette
from starlette.routing import Host, Match, Mount, Route, Router


@pytest.mark.proves("fastapi.route")
@pytest.mark.proves("starlette.route")
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    paths=st.lists(st.sampled_from(PATHS), max_size=12),
    methods=st.lists(st.sampled_from(["GET", "POST", "DELETE"]), min_size=12, max_size=12),
)
def test_every_route_is_as_in_stock(both_ways, kind, paths, methods):
    """Any routes, in any order: paths with and without parameters, mounts, hosts, included routers, own classes."""
    module, make = KINDS[kind]

    stock, ours = both_ways(lambda: every(module._get_route_details, make(paths, methods)))

    assert ours == stock


@pytest.mark.parametrize("kind", KINDS)
def test_routes_that_change(both_ways, kind):
    """Routes that are added, removed or replaced later are found as stock finds them."""
    module, make = KINDS[kind]

    def run():
        app = make(["/items/{item_id}", "/users/me"], ["GET", "GET"])
        seen = [every(module._get_route_details, app)]
        app.router.routes.insert(0, Route("/users/{user_id}", endpoint, methods=["POST"]))
        seen.append(every(module._get_route_details, app))
        app.router.routes[0] = Route("/items/{other}", endpoint)
        seen.append(every(module._get_route_details, app))
        del app.router.routes[0]
        seen.append(every(module._get_route_details, app))
        app.router.routes = [*app.router.routes, Route("/other", endpoint)]
        seen.append(every(module._get_route_details, app))
        return seen

    stock, ours = both_ways(run)

    assert ours == stock


def test_a_router_that_changes_after_it_was_included(both_ways):
    """FastAPI serves such routes since 0.137; what stock says of them, we say, too."""

    def run():
        app, router = FastAPI(), APIRouter(prefix="/v1")
        router.add_api_route("/items", answer)
        app.include_router(router)
        details = fastapi_instrumentation._get_route_details
        seen = [details({**asked("/v1/items"), "app": app}), details({**asked("/v1/other"), "app": app})]
        router.add_api_route("/other", answer)
        return [*seen, details({**asked("/v1/other"), "app": app})]

    stock, ours = both_ways(run)

    assert ours == stock


@pytest.mark.skipif(older("fastapi", "0.137"), reason="before that, routes are copied when a router is included")
def test_routers_inside_of_routers_that_change(both_ways):
    """Whatever changes, before or behind the route of a request, in whichever router: what stock finds, we find."""

    def run():
        details = fastapi_instrumentation._get_route_details
        app, outer, inner, last = FastAPI(), APIRouter(), APIRouter(prefix="/inner"), APIRouter(prefix="/last")
        inner.add_api_route("/{name}", answer)
        outer.include_router(inner)
        outer.include_router(last)
        app.include_router(outer, prefix="/v1")
        app.include_router(last)

        def every_path():
            paths = ("/v1/inner/a", "/v1/inner/a/b", "/v1/last/a", "/last/a", "/v1/a", "/none")
            return [details({**asked(path), "app": app}) for path in paths]

        seen = [every_path(), every_path()]
        for router, path in ((last, "/{other}"), (inner, "/a/{more}"), (outer, "/{early}")):
            router.add_api_route(path, answer)
            seen += [every_path(), every_path()]
        inner.routes.reverse()
        app.router.routes.reverse()
        seen.append(every_path())
        del app.router.routes[0]
        seen.append(every_path())
        app.router.routes.insert(0, Route("/v1/{rest:path}", endpoint, methods=["GET"]))
        return [*seen, every_path()]

    stock, ours = both_ways(run)

    assert ours == stock


@pytest.mark.parametrize("kind", KINDS)
def test_patterns_of_the_application(both_ways, kind):
    """An application may replace the regular expression of a route, and what it may match."""
    module, make = KINDS[kind]

    def run():
        seen = []
        for pattern, flags in (
            ("^/items$", re.IGNORECASE),
            ("^/items$|^/other$", 0),
            ("^/items/?", 0),
            ("^/items-?red$", 0),
            ("^/[^/]+/3$", 0),
        ):
            route = Route("/items", endpoint)
            route.path_regex = re.compile(pattern, flags)
            app = make([], [])
            app.router.routes.insert(0, route)
            seen.append(every(module._get_route_details, app))
            seen.append(module._get_route_details({**asked("/ITEMS"), "app": app}))
        return seen

    stock, ours = both_ways(run)

    assert ours == stock


def test_routes_that_are_equal(both_ways):
    """A route may be replaced by one that compares equal and matches other requests."""

    class Never(Route):
        def matches(self, scope):
            """Match nothing."""
            del scope
            return Match.NONE, {}

    def run():
        app = Starlette(routes=[Route("/items", endpoint)])
        details = starlette_instrumentation._get_route_details
        seen = [details({**asked("/items"), "app": app})]
        app.router.routes[0] = Never("/items", endpoint)
        return [*seen, details({**asked("/items"), "app": app})]

    assert both_ways(run) == (["/items", None], ["/items", None])


def test_routers_that_are_included(both_ways):
    """FastAPI includes routers with routes of every kind."""

    def run():
        app, router = FastAPI(), APIRouter(prefix="/v1")
        router.add_api_route("/items", answer)
        router.routes.append(Route("/v1/plain", endpoint))
        router.routes.append(Mount("/v1/sub", routes=[Route("/x", endpoint)]))
        if not older("fastapi", "0.137"):
            # Before that, FastAPI refuses to include them.
            router.routes.append(Host("api.example.org", Router([Route("/items", endpoint)])))
        router.add_api_websocket_route("/feed", endpoint)
        router.add_api_route("/last", answer)
        app.include_router(router)
        return [
            fastapi_instrumentation._get_route_details({**asked(path, "GET", kind, host=host), "app": app})
            for path in ("/v1/items", "/v1/plain", "/v1/sub/x", "/v1/feed", "/v1/last", "/v1/none")
            for kind in ("http", "websocket")
            for host in (b"localhost", b"api.example.org")
        ]

    stock, ours = both_ways(run)

    assert ours == stock


def test_two_instrumentations_of_one_application(both_ways):
    """FastAPI's and Starlette's read the routes of included routers differently."""

    def run():
        app, router = FastAPI(), APIRouter(prefix="/v1")
        router.add_api_route("/items/{item_id}", answer)
        app.include_router(router)
        modules = (fastapi_instrumentation, starlette_instrumentation)
        return [module._get_route_details({**asked("/v1/items/3"), "app": app}) for module in modules * 2]

    stock, ours = both_ways(run)

    assert ours == stock


@pytest.mark.parametrize("order", ["before", "after", "in use"])
@pytest.mark.parametrize("kind", [Route, APIRoute, getattr(routing, "_EffectiveRouteContext", None)])
def test_other_code_that_matches(both_ways, monkeypatch, instrumentor, core, kind, order):
    """Another package that replaces the method `matches` of a class of routes decides, whenever it does so."""
    if kind is None:
        pytest.skip("this FastAPI has no contexts of routes")

    def run():
        app, router = FastAPI(), APIRouter(prefix="/v1")
        app.add_api_route("/items/{item_id}", answer)
        router.add_api_route("/items/{item_id}", answer)
        app.include_router(router)
        details = fastapi_instrumentation._get_route_details
        requests = [{**asked(path), "app": app} for path in ("/items/3", "/v1/items/3")]
        if order == "in use":
            for request in requests:
                details(request)
            patch()
        return [details(request) for request in requests]

    original = kind.matches

    def patch():
        monkeypatch.setattr(
            kind, "matches", lambda self, scope: original(self, {**scope, "method": "POST", "path": "/"})
        )

    if order == "before":
        patch()
        stock, ours = both_ways(run)
    else:
        instrumentor.instrument(core=core)
        if order == "after":
            patch()
        ours = run()
        instrumentor.uninstrument()
        stock = run()

    assert ours == stock


def test_routes_in_other_sequences(both_ways):
    """The routes of an application need not be a list, nor the application have a dict."""

    class Application:
        __slots__ = ("routes",)

    class Other:
        pass

    def run():
        seen = []
        for made in (Application(), Other()):
            made.routes = (Route("/items", endpoint), Route("/{name}", endpoint))
            requests = [{**asked(path), "app": made} for path in ("/items", "/other", "/items")]
            seen += map(starlette_instrumentation._get_route_details, requests)
        return seen

    stock, ours = both_ways(run)

    assert ours == stock == ["/items", "/{name}", "/items"] * 2


def test_both_cores_serve_one_application(instrumentor, no_faults):
    """One after the other: each makes its own table."""
    app = Starlette(routes=[Route("/items", endpoint)])
    for core in ("py", "c", "py"):
        try:
            instrumentor.instrument(core=core)
        except ImportError:
            pytest.skip("nothing is compiled")
        assert starlette_instrumentation._get_route_details({**asked("/items"), "app": app}) == "/items"
        instrumentor.uninstrument()

    assert no_faults.counts() == {}


def test_a_route_that_raises(both_ways):
    """Its exception is the caller's, as with stock."""

    class Raises(Route):
        def matches(self, scope):
            """Fail."""
            raise ValueError(scope["path"])

    def run():
        app = Starlette(routes=[Raises("/items", endpoint)])
        with pytest.raises(ValueError, match="items"):
            starlette_instrumentation._get_route_details({**asked("/items"), "app": app})
        return True

    assert both_ways(run) == (True, True)
