"""Names of spans after the routes of FastAPI and Starlette, whoever else has a say in them."""

from __future__ import annotations

import asyncio
import enum
import functools

import pytest
from asgicheck import BODY, START, receive_empty, scope, send_nowhere, serve
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased
from routecheck import KINDS


class Method(str, enum.Enum):
    """A method of a server that has names for them."""

    GET = "GET"


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
        for method in ("GET", "POST", "get", "QUERY", "PURGE", " POST", "", Method.GET)
        for path in ("/items/3", "/other")
    ]

    stock, ours = both_ways(_spans, recorded, module, requests)

    assert ours == stock
    assert {"GET /items/{item_id}", "GET", "POST"} <= {span[0] for span in ours}


@pytest.mark.parametrize("kind", KINDS)
def test_other_code_that_finds_the_route(instrumented, recorded, environ, kind):
    """Another package that replaces stock's function, before or after ours, decides about the route."""
    del instrumented
    module, make = KINDS[kind]
    environ.setattr(module, "_get_route_details", lambda given: f"other{given['path']}")

    spans = _spans(recorded, module, [scope(app=make([], []))])

    assert spans[-1][0] == "GET other/items/3"
    assert dict(spans[-1][2])["http.route"] == "other/items/3"


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


@pytest.mark.parametrize("order", ["before", "after"])
def test_other_code_that_sanitizes_methods(both_ways, instrumentor, core, recorded, monkeypatch, order):
    """Stock's function calls the one of its own module."""
    module, make = KINDS["fastapi"]
    requests = [scope(method=method, app=make(["/items/{item_id}"], ["GET"])) for method in ("GET", "PURGE")]

    def patch():
        monkeypatch.setattr(module, "sanitize_method", lambda method: f"their {method}")

    if order == "before":
        patch()
        stock, ours = both_ways(_spans, recorded, module, requests)
    else:
        instrumentor.instrument(core=core)
        patch()
        ours = _spans(recorded, module, requests)
        instrumentor.uninstrument()
        stock = _spans(recorded, module, requests)

    assert ours == stock
    assert "their GET /items/{item_id}" in {span[0] for span in ours}


def test_a_span_that_is_sampled_below_one_that_is_not(both_ways, recorded):
    """Its name is that of the request as it came, whatever the application does with the scope."""
    sampler = ParentBased(ALWAYS_OFF, local_parent_not_sampled=ALWAYS_ON)

    async def app(given, _receive, send):
        given["path"] = given["method"] = "other"
        for message in (START, BODY):
            await send(message)

    def run():
        made = recorded(sampler)
        made.tracers.sampler = sampler
        middleware = OpenTelemetryMiddleware(app, **made.providers)
        asyncio.run(middleware(scope(), receive_empty, send_nowhere))
        return [span[:3] for span in made.spans()]

    stock, ours = both_ways(run)

    assert ours == stock
    assert {span[0] for span in ours} == {"GET /items/3 http send"}
