"""Applications of FastAPI and Starlette with routes of every kind, and requests that match them or do not."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
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
