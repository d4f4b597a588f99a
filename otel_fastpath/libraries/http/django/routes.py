"""The names of Django's spans before Django has resolved the path, and which requests are excluded.

A path is resolved once: what `resolve` finds is kept as long as it follows from the path.
"""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.urls import Resolver404, converters, get_resolver, get_urlconf, resolve
from django.utils import translation

from otel_fastpath.libraries.http.bounded import LONGEST, keep

# Converters of the application may look into a database; where they are not known, nothing is kept.
_custom_converters: Final[Any] = getattr(converters, "REGISTERED_CONVERTERS", True)
# The requests that no route matches.
_NOTHING: Final = ""
_names: Final[dict[Any, str]] = {}


def name_of(request: Any, method: str) -> str:
    """The name of a request's span, as `_get_span_name` makes it, for a known method."""
    match = request.resolver_match
    if match:
        found = _of_match(match)
    elif _custom_converters:
        found = _resolved(request.path)
    else:
        key = (get_resolver(get_urlconf()), request.path, translation.get_language())
        kept = _names.get(key)
        if kept is None:
            kept = _resolved(request.path)
            if len(request.path) + len(kept) <= LONGEST:
                keep(_names, key, kept)
        found = kept
    return f"{method} {found}" if found else request.method


def _resolved(path: str) -> str:
    try:
        return _of_match(resolve(path))
    except Resolver404:
        return _NOTHING


def _of_match(match: Any) -> str:
    return getattr(match, "route", None) or getattr(match, "url_name", None) or _NOTHING


def key_of_url(request: Any) -> tuple[Any, ...] | None:
    """What `build_absolute_uri("?")` follows from; None: that is not known."""
    if type(request) is not WSGIRequest or settings.USE_X_FORWARDED_HOST or settings.SECURE_PROXY_SSL_HEADER:
        return None
    get = request.META.get
    return get("wsgi.url_scheme"), get("HTTP_HOST"), get("SERVER_NAME"), get("SERVER_PORT"), request.path


def is_wsgi(request: Any) -> bool:
    """Whether this is a request in WSGI's form."""
    return isinstance(request, WSGIRequest) and type(request.META) is dict
