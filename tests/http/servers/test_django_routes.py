"""The names of Django's spans where routes depend on the selected language, and where they do not."""

from __future__ import annotations

from types import ModuleType

import django
import pytest
from django.conf import settings
from django.conf.urls.i18n import i18n_patterns
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpResponse
from django.test import RequestFactory, override_settings
from django.urls import URLPattern, include, path, resolve
from django.urls.resolvers import RoutePattern
from django.utils import translation
from django.utils.functional import lazystr

from otel_fastpath.http.django import routes


@pytest.fixture(autouse=True)
def configured():
    """Django, without routes."""
    if not settings.configured:
        settings.configure(ALLOWED_HOSTS=["*"], MIDDLEWARE=[], LOGGING_CONFIG=None)
        django.setup()


def urlconf(*patterns):
    """The module with these routes."""
    made = ModuleType("routes_of_a_test")
    made.urlpatterns = list(patterns)
    return made


def item(_request):
    """A view."""
    return HttpResponse()


TRANSLATED = {
    "prefix": lambda: i18n_patterns(path("items", item)),
    "text": lambda: [path(lazystr("en/items"), item)],
    "included": lambda: [path("", include([path(lazystr("en/items"), item)]))],
}


@pytest.mark.parametrize("kind", TRANSLATED)
def test_routes_that_depend_on_the_language(kind, monkeypatch):
    """They are resolved for each language."""
    asked = []
    monkeypatch.setattr(routes.translation, "get_language", lambda: asked.append(1))
    with override_settings(ROOT_URLCONF=urlconf(*TRANSLATED[kind]())):
        routes.name_of(RequestFactory().get("/en/items"), "GET")

    assert asked


def test_one_path_in_two_languages():
    """A path that is one language's is not found with the other."""
    languages = [("en", "English"), ("de", "German")]
    with override_settings(ROOT_URLCONF=urlconf(*i18n_patterns(path("items", item))), LANGUAGES=languages):
        named = []
        for language in ("de", "en", "de", "en"):
            with translation.override(language):
                named.append(routes.name_of(RequestFactory().get("/de/items"), "GET"))

    assert named == ["GET de/items", "GET"] * 2


def test_a_route_that_is_added_after_a_request():
    """A request that found no route does not hide it."""
    routed = urlconf()
    with override_settings(ROOT_URLCONF=routed):
        before = routes.name_of(RequestFactory().get("/items"), "GET")
        routed.urlpatterns.append(path("items", item))
        after = routes.name_of(RequestFactory().get("/items"), "GET")

    assert (before, after) == ("GET", "GET items")


def switchable(kind):
    """A route or pattern of the application's own, which decides for itself whether it is there."""
    is_on = [True]

    class Switchable(kind):
        def resolve(self, path):
            return super().resolve(path) if is_on[0] else None

        def match(self, path):
            return super().match(path) if is_on[0] else None

    return Switchable, is_on


@pytest.mark.parametrize("is_included", [False, True], ids=["at the root", "included"])
@pytest.mark.parametrize("kind", ["route", "pattern"])
def test_a_route_that_the_application_decides_about(kind, is_included):
    """It is asked for each request."""
    if kind == "route":
        made, is_on = switchable(URLPattern)
        route = made(RoutePattern("items", is_endpoint=True), item)
    else:
        made, is_on = switchable(RoutePattern)
        route = URLPattern(made("items", is_endpoint=True), item)
    named = []
    with override_settings(ROOT_URLCONF=urlconf(path("", include([route])) if is_included else route)):
        for is_on[0] in (True, False, True):
            named.append(routes.name_of(RequestFactory().get("/items"), "GET"))

    assert named == ["GET items", "GET", "GET items"]


def test_other_routes(monkeypatch):
    """The language is not asked for, and the name is that of the route."""
    monkeypatch.setattr(routes.translation, "get_language", None)
    with override_settings(ROOT_URLCONF=urlconf(path("", include([path("items/<int:number>", item)])))):
        for _ in range(2):
            assert routes.name_of(RequestFactory().get("/items/3"), "GET") == f"GET {resolve('/items/3').route}"


def test_a_method_of_requests_that_other_code_has_replaced(monkeypatch):
    """What it returns may follow from anything: neither hosts nor URLs are known any more."""
    with override_settings(ROOT_URLCONF=urlconf()):
        assert routes.key_of_url(RequestFactory().get("/items")) is not None
        monkeypatch.setattr(WSGIRequest, "build_absolute_uri", lambda request, _=None: request.headers["X-Url"])
        assert routes.key_of_url(RequestFactory().get("/items")) is None
