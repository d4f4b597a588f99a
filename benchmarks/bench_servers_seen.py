"""Hosts and routes of servers: never seen, and more of them in turn than are kept. No dearer than stock.

    otel-fastpath budget check --file benchmarks/budgets.toml --metrics instructions --only 'Flask, * seen*'

Requests are those of `bench_http_servers`, to other hosts, and to an application with as many routes.
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import bench_http_servers as servers

# Ten times what `cache.keep` keeps by default; the routes in groups, because Django looks at one after another.
GROUPS, EACH = 64, 80
HOSTS = GROUPS * EACH
# So many fill what is kept: all that follow are beyond it.
FIRST = 2_000


def _flask_routes(app: Any) -> None:
    from werkzeug.routing import Rule  # noqa: PLC0415  # only where it is measured

    # What makes the URL of a route takes a long time to compile, and is not called.
    kind: Any = Rule
    kind._compile_builder = lambda *_: _flask_routes

    def item(item: int) -> Any:  # noqa: ARG001  # the route's
        return servers.ANSWER, {"Content-Type": "application/json"}

    for number in range(HOSTS):
        app.add_url_rule(_route(number) + "/<int:item>", view_func=item, endpoint=f"item{number}")


def _django_routes(_app: Any) -> None:
    from django.http import HttpResponse  # noqa: PLC0415  # only where it is measured
    from django.urls import clear_url_caches, include, path  # noqa: PLC0415  # likewise

    def item(_request: Any, item: int) -> Any:  # noqa: ARG001  # the route's
        return HttpResponse(servers.ANSWER, content_type="application/json")

    routes = [[path(f"route{each}/<int:item>", item) for each in range(EACH)] for _ in range(GROUPS)]
    servers.urlpatterns += [path(f"group{number}/", include(each)) for number, each in enumerate(routes)]  # type: ignore[attr-defined]  # made by the set-up
    clear_url_caches()


def _aiohttp_routes(app: Any) -> None:
    from aiohttp import web  # noqa: PLC0415  # only where it is measured

    async def item(_request: Any) -> Any:
        return web.Response(body=servers.ANSWER, content_type="application/json")

    app._router._frozen = False
    for number in range(HOSTS):
        app.router.add_get(_route(number) + "/{item}", item)
    app._router._frozen = True


_ROUTES = {"flask": _flask_routes, "django": _django_routes, "aiohttp": _aiohttp_routes}


def _route(number: int) -> str:
    return f"/group{number // EACH}/route{number % EACH}"


class Given:
    """The objects that the callables of this file use.

    Attributes:
        servers: The applications.
        new: Counts what is new.
        hosts, hosts_bare: Hosts in turn.
        paths, paths_bare: Paths of different routes in turn.
    """

    def __init__(self, framework: str, core: str | None) -> None:
        self.servers = servers._given(framework, core)
        self.is_aiohttp = framework == "aiohttp"
        self.new = itertools.count()
        hosts = [f"tenant{number}.example.org" for number in range(HOSTS)]
        self.hosts, self.hosts_bare = itertools.cycle(hosts), itertools.cycle(hosts)
        paths = [_route(number) + "/3" for number in range(HOSTS)]
        self.paths, self.paths_bare = itertools.cycle(paths), itertools.cycle(paths)

    def serve(self, app: Any, host: str, path: str = "/items/3") -> None:
        """Serve one request."""
        if self.is_aiohttp:
            servers._handle(app, path, {**servers.HEADERS, "Host": host})
        else:
            servers._read(app, {**self.servers.environ, "HTTP_HOST": host, "PATH_INFO": path})

    def add_routes(self, framework: str) -> None:
        """Add the routes to both applications; those of Django have theirs in common."""
        for app in {self.servers.bare, self.servers.app} if framework != "django" else {None}:
            _ROUTES[framework](app)


def _seen(framework: str, core: str | None, seen: str) -> Given:
    given = Given(framework, core)
    if seen == "routes":
        given.add_routes(framework)
    for _ in range(FIRST if seen else 0):
        _USES[seen](given)
    return given


def __getattr__(name: str) -> Any:
    """The set-ups: "wsgi_stock", "wsgi_compiled", "wsgi_pure" and so on; those with "_hosts" have seen them."""
    framework, _, core = name.partition("_")
    core, _, seen = core.partition("_")
    cores = {"stock": None, "compiled": "c", "pure": "py"}
    if framework not in servers._FRAMEWORKS or core not in cores or seen not in {"", *_USES}:
        raise AttributeError(name)
    return partial(_seen, framework, cores[core], seen)


def bare(given: Given) -> None:
    """A request to a host that was never seen, without an instrumentation."""
    given.serve(given.servers.bare, f"new{next(given.new)}.example.org")


def served(given: Given) -> None:
    """A request to a host that was never seen."""
    given.serve(given.servers.app, f"new{next(given.new)}.example.org")


def in_turn_bare(given: Given) -> None:
    """A request to one of more hosts in turn than are kept, without an instrumentation."""
    given.serve(given.servers.bare, next(given.hosts_bare))


def in_turn(given: Given) -> None:
    """A request to one of more hosts in turn than are kept."""
    given.serve(given.servers.app, next(given.hosts))


def routes_in_turn_bare(given: Given) -> None:
    """A request to one of more routes in turn than are kept, without an instrumentation."""
    given.serve(given.servers.bare, "localhost:8000", next(given.paths_bare))


def routes_in_turn(given: Given) -> None:
    """A request to one of more routes in turn than are kept."""
    given.serve(given.servers.app, "localhost:8000", next(given.paths))


_USES = {"hosts": in_turn, "routes": routes_in_turn}
