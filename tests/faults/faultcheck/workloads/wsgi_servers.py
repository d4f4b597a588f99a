"""Applications of WSGI, Flask and Django with the stock instrumentations, called as a server calls them."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any
from wsgiref.util import setup_testing_defaults

from opentelemetry import trace

from faultcheck.host import HostError
from faultcheck.workloads.http_servers import PARENT, Servers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from faultcheck.host import Host

_REQUESTS: dict[str, tuple[str, str, dict[str, str]]] = {
    "get": ("GET", "/items/1", {"QUERY_STRING": "a=1"}),
    "again": ("GET", "/items/1", {"QUERY_STRING": "a=1"}),
    "parent": ("GET", "/items/1", {"HTTP_TRACEPARENT": PARENT, "HTTP_X_ASK": "1"}),
    "baggage": ("GET", "/items/1", {"HTTP_BAGGAGE": "a=1"}),
    "raw": ("POST", "/items/1", {"RAW_URI": "/items/1?sig=a", "REMOTE_ADDR": "1.2.3.4", "REMOTE_PORT": "5"}),
    "unusual": ("BREW", "/items/1", {}),
    "no route": ("GET", "/nowhere", {}),
    "stream": ("GET", "/stream", {"HTTP_TRACEPARENT": PARENT}),
    "raises": ("GET", "/raises", {}),
    "raises, parent": ("GET", "/raises", {"HTTP_TRACEPARENT": PARENT}),
    "late": ("GET", "/late", {"HTTP_TRACEPARENT": PARENT}),
    "excluded": ("GET", "/items/excluded", {}),
}


class WSGIServers(Servers):
    """The middleware of WSGI, Flask and Django."""

    def set_up(self) -> None:
        """An application of each."""
        from opentelemetry.instrumentation.django import DjangoInstrumentor
        from opentelemetry.instrumentation.flask import FlaskInstrumentor  # noqa: F401  # patched where it is imported
        from opentelemetry.instrumentation.wsgi import OpenTelemetryMiddleware  # noqa: F401  # likewise

        self._configure_django()
        DjangoInstrumentor().instrument(**self.telemetry.providers(), **self.hooks("request_hook", "response_hook"))

    def run(self, host: Host) -> None:
        """Each request to each of them."""
        self.error = host.error()
        for kind, make in {"wsgi": self._wsgi, "flask": self._flask, "django": self._django}.items():
            app = host.step(f"{kind}: made", make)
            for name, request in _REQUESTS.items():
                host.step(f"{kind}: {name}", self._serve, app, *request)
            host.step(f"{kind}: inside", self._inside, app)
            host.step(f"{kind}: left", self._left, app)
            host.step(f"{kind}: server raises", self._server_raises, app, host)
            host.step(f"{kind}: hook raises", self._raising, app, host)

    def _environ(self, method: str, path: str, more: dict[str, str]) -> dict[str, Any]:
        environ: dict[str, Any] = {"REQUEST_METHOD": method, "PATH_INFO": path, **more}
        setup_testing_defaults(environ)
        return environ

    def _serve(self, app: Any, method: str, path: str, more: dict[str, str]) -> Any:
        told: list[Any] = []

        def start_response(status: str, headers: list[tuple[str, str]], *_args: Any) -> Callable[[bytes], None]:
            told.append((status, dict(headers).get("X-Answer")))
            return told.append

        body = app(self._environ(method, path, more), start_response)
        try:
            told.extend(body)
        finally:
            if hasattr(body, "close"):
                body.close()
        return told

    def _inside(self, app: Any) -> Any:
        """A request inside of the host's own span, which is the current one afterwards."""
        with trace.get_tracer("host").start_as_current_span("host's own") as span:
            return self._serve(app, *_REQUESTS["get"]), trace.get_current_span() is span

    def _left(self, app: Any) -> Any:
        """A body that is not read, but closed."""
        told: list[Any] = []
        body = app(self._environ("GET", "/stream", {}), lambda *args: told.append(args[0]))
        if hasattr(body, "close"):
            body.close()
        return told

    def _server_raises(self, app: Any, host: Host) -> Any:
        error = host.error()

        def start_response(*_args: Any) -> None:
            raise error

        return list(app(self._environ("GET", "/items/1", {}), start_response))

    def _raising(self, app: Any, host: Host) -> Any:
        """A request of which the hooks raise, if there are any."""
        self.raised = host.error() if self.has_hooks else None
        try:
            self._serve(app, "GET", "/items/1", {})
        except HostError as error:
            # After a fault of ours, there may be no span to call the hook with.
            return "fine" if error is self.raised else "another"
        finally:
            self.raised = None
        return "fine"

    def _chunks(self, *, fails: bool) -> Iterator[bytes]:
        yield b"a"
        if fails:
            raise self.error  # type: ignore[misc]  # set by `run`
        yield b"b"

    def _wsgi(self) -> Any:
        from opentelemetry.instrumentation.wsgi import OpenTelemetryMiddleware

        given = self.hooks("request_hook", "response_hook")
        providers = {name: self.telemetry.providers()[name] for name in ("tracer_provider", "meter_provider")}
        return OpenTelemetryMiddleware(self._application, **given, **providers)

    def _application(self, environ: Any, start_response: Any) -> Any:
        path = environ["PATH_INFO"]
        if path == "/raises":
            raise self.error  # type: ignore[misc]  # set by `run`
        start_response("404 Not Found" if path == "/nowhere" else "200 OK", [("X-Answer", "yes")])
        if path in {"/stream", "/late"}:
            return self._chunks(fails=path == "/late")
        return [f"{environ['REQUEST_METHOD']} {path}".encode()]

    def _flask(self) -> Any:
        import flask
        from opentelemetry.instrumentation.flask import FlaskInstrumentor

        app = flask.Flask("faults")
        app.testing = True

        @app.route("/items/<name>", methods=["GET", "POST"])
        def items(name: str) -> Any:
            return flask.Response(name, headers={"X-Answer": "yes"})

        @app.route("/stream")
        def stream() -> Any:
            return flask.Response(self._chunks(fails=False))

        @app.route("/late")
        def late() -> Any:
            return flask.Response(self._chunks(fails=True))

        @app.route("/raises")
        def raises() -> Any:
            raise self.error  # type: ignore[misc]  # set by `run`

        del items, stream, late, raises
        FlaskInstrumentor.instrument_app(
            app,
            enable_commenter=self.has_hooks,
            tracer_provider=self.telemetry.tracer_provider,
            meter_provider=self.telemetry.meter_provider,
            **self.hooks("request_hook", "response_hook"),
        )
        return app.wsgi_app

    def _configure_django(self) -> None:
        import django
        from django.conf import settings
        from django.http import HttpResponse, StreamingHttpResponse
        from django.urls import path

        def items(_request: Any, name: str) -> Any:
            return HttpResponse(name, headers={"X-Answer": "yes"})

        def stream(_request: Any) -> Any:
            return StreamingHttpResponse(self._chunks(fails=False))

        def late(_request: Any) -> Any:
            return StreamingHttpResponse(self._chunks(fails=True))

        def raises(_request: Any) -> Any:
            raise self.error  # type: ignore[misc]  # set by `run`

        urls: Any = ModuleType("faults_urls")
        urls.urlpatterns = [
            path("items/<str:name>", items),
            path("stream", stream),
            path("late", late),
            path("raises", raises),
        ]
        sys.modules["faults_urls"] = urls
        settings.configure(
            ROOT_URLCONF="faults_urls", ALLOWED_HOSTS=["*"], MIDDLEWARE=[], DEBUG_PROPAGATE_EXCEPTIONS=True
        )
        django.setup()

    def _django(self) -> Any:
        from django.core.handlers.wsgi import WSGIHandler

        return WSGIHandler()


class WSGIServersHooks(WSGIServers):
    """The same with hooks and captured headers."""

    has_hooks = True
