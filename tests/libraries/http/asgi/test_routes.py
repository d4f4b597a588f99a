"""Routes of FastAPI and Starlette: the same ones as upstream finds, whatever the application's routes are."""

from __future__ import annotations

import functools

import pytest
from asgicheck import scope, serve
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from newer_releases import asgi_requests
from opentelemetry.instrumentation import fastapi as fastapi_instrumentation
from opentelemetry.instrumentation import starlette as starlette_instrumentation
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Host, Match, Mount, Route, Router, WebSocketRoute

PATHS = [
    "/",
    "/items",
    "/items/",
    "/items/{item_id}",
    "/items/{item_id:int}",
    "/items/{item_id}/parts",
    "/items-{kind}",
    "/{name}",
    "/{rest:path}",
    "/users/me",
    "/users/{user_id}",
    "/sub/x",
]
ASKED = [
    *PATHS,
    "",
    "/items/3",
    "/items/3/parts",
    "/items/3/parts/",
    "/items-red",
    "/users/7",
    "/sub",
    "/sub/y",
    "/sub/items/3",
    "/v1/items/3",
    "/v1/deep/7",
    "/other",
    "items",
    "/items\n",
    "/users/me\n",
    "//items",
]


async def endpoint(request):
    """Answer."""
    return PlainTextResponse(request.url.path)


async def answer():
    """Answer."""
    return {}


class Odd(APIRoute):
    """A route with an own way to match."""

    def matches(self, scope):
        """Match paths that end with `odd`."""
        return (Match.FULL, {}) if scope["path"].endswith("odd") else (Match.NONE, {})


def asked(path, method="GET", kind="http", root_path="", host=b"localhost"):
    """A request."""
    return {
        "type": kind,
        "method": method,
        "path": path,
        "root_path": root_path,
        "headers": [(b"host", host)],
        "query_string": b"",
    }


def every(details, app):
    """The route of each path, by each method, of each kind of request."""
    return {
        (path, method, kind, root_path, host): details(
            {**asked(path, method, kind, root_path, host), "app": app},
        )
        for path in ASKED
        for method in ("GET", "POST", "HEAD", "get")
        for kind in ("http", "websocket")
        for root_path in ("", "/v1")
        for host in (b"localhost", b"api.example.org")
    }


def fastapi_app(paths, methods):
    """A FastAPI application with these paths, and with routers, mounts, hosts, websockets and an own kind of route."""
    app = FastAPI()
    router = APIRouter(prefix="/v1")
    inner = APIRouter(prefix="/deep")
    for number, (path, method) in enumerate(zip(paths, methods, strict=False)):
        target = (app, router, inner)[number % 3]
        target.add_api_route(path, answer, methods=[method])
    router.include_router(inner)
    app.include_router(router)
    app.mount("/sub", Starlette(routes=[Route("/x", endpoint)]))
    app.router.routes.append(Host("api.example.org", Router([Route("/items", endpoint)])))
    app.router.routes.append(Odd("/odd", answer))
    app.router.routes.append(WebSocketRoute("/items/{item_id}", endpoint))
    return app


def starlette_app(paths, methods):
    """A Starlette application, likewise."""
    routes = [Route(path, endpoint, methods=[method]) for path, method in zip(paths, methods, strict=False)]
    routes += [
        Mount("/sub", routes=[Route("/x", endpoint)]),
        Host("api.example.org", Router([Route("/items", endpoint)])),
        WebSocketRoute("/items/{item_id}", endpoint),
    ]
    return Starlette(routes=routes)


KINDS = {
    "fastapi": (fastapi_instrumentation, fastapi_app),
    "starlette": (starlette_instrumentation, starlette_app),
}


@pytest.mark.proves("fastapi.route")
@pytest.mark.proves("starlette.route")
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    paths=st.lists(st.sampled_from(PATHS), max_size=12),
    methods=st.lists(st.sampled_from(["GET", "POST", "DELETE"]), min_size=12, max_size=12),
)
def test_every_route_is_upstreams(both_ways, kind, paths, methods):
    """Any routes, in any order: paths with and without parameters, mounts, hosts, included routers, own classes."""
    module, make = KINDS[kind]

    stock, ours = both_ways(lambda: every(module._get_route_details, make(paths, methods)))

    assert ours == stock


@pytest.mark.parametrize("kind", KINDS)
def test_routes_that_change(both_ways, kind):
    """Routes that are added, removed or replaced later are found as upstream finds them."""
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
    """FastAPI serves such routes since 0.137; what upstream says of them, we say, too."""

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


def test_a_route_that_raises(both_ways):
    """Its exception is the caller's, as with upstream."""

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


def _spans(recorded, module, requests):
    """The spans of these requests to a middleware that names them as the instrumentation of this framework does."""
    keywords = {"default_span_details": module._get_default_span_details}
    return serve(recorded, requests, keywords=keywords)[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("known", ["", "1"])
def test_names_of_spans(both_ways, recorded, conventions, environ, kind, known):
    """Usual and unusual methods, with and without a route; whatever the environment says of methods."""
    del conventions
    environ.setenv("OTEL_PYTHON_INSTRUMENTATION_HTTP_CAPTURE_ALL_METHODS", known)
    module, make = KINDS[kind]
    app = make(["/items/{item_id}"], ["GET"])
    requests = [
        scope(method=method, path=path, app=app)
        for method in ("GET", "POST", "get", "QUERY", "PURGE", " POST", "")
        for path in ("/items/3", "/other")
    ]

    stock, ours = both_ways(_spans, recorded, module, requests)

    assert ours == stock
    assert {"GET /items/{item_id}", "GET", "POST"} <= {span[0] for span in ours}


@asgi_requests
@pytest.mark.parametrize("kind", KINDS)
def test_other_code_that_finds_the_route(instrumented, recorded, environ, kind):
    """Another package that replaces upstream's function, before or after ours, decides about the route."""
    del instrumented
    module, make = KINDS[kind]
    environ.setattr(module, "_get_route_details", lambda given: f"other{given['path']}")

    spans = _spans(recorded, module, [scope(app=make([], []))])

    assert spans[-1][0] == "GET other/items/3"
    assert dict(spans[-1][2])["http.route"] == "other/items/3"


@asgi_requests
@pytest.mark.parametrize("kind", KINDS)
def test_other_code_that_names_spans(instrumented, recorded, environ, kind):
    """So does one that wraps or replaces the function that names spans after routes."""
    del instrumented
    module, make = KINDS[kind]
    original = module._get_default_span_details

    @functools.wraps(original)
    def renamed(given):
        name, attributes = original(given)
        return f"our {name}", attributes

    environ.setattr(module, "_get_default_span_details", renamed)
    spans = _spans(recorded, module, [scope(app=make(["/items/{item_id}"], ["GET"]))])

    assert spans[-1][0] == "our GET /items/{item_id}"
    assert dict(spans[-1][2])["http.route"] == "/items/{item_id}"


@asgi_requests
def test_an_unknown_source(instrumented, recorded, environ):
    """A release that names spans in another way is asked; the source is not one that the code here was written for."""
    del instrumented
    module, make = KINDS["starlette"]

    def _get_default_span_details(given):
        return f"new {given['path']}", {}

    for name in ("__module__", "__qualname__"):
        setattr(_get_default_span_details, name, getattr(module._get_default_span_details, name))
    environ.setattr(module, "_get_default_span_details", _get_default_span_details)

    spans = _spans(recorded, module, [scope(app=make([], []))])

    assert spans[-1][0] == "new /items/3"
