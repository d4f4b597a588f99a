"""The names of Django's spans before Django has resolved the path, and which requests are excluded or refused.

A path is resolved once: what `resolve` finds is kept as long as it follows from the path.
"""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.wsgi import WSGIRequest
from django.urls import Resolver404, converters, get_resolver, get_urlconf, resolve
from django.urls.resolvers import LocalePrefixPattern, RegexPattern, RoutePattern, URLPattern, URLResolver
from django.utils import translation

from otel_fastpath.http.bounded import LONGEST
from otel_fastpath.patching.cache import keep
from otel_fastpath.patching.stock import unreplaced

# Converters of the application may look into a database; where they are not known, nothing is kept.
_custom_converters: Final[Any] = getattr(converters, "REGISTERED_CONVERTERS", True)
# The requests that no route matches.
_NOTHING: Final = ""
_names: Final[dict[Any, str]] = {}
# What else than the path decides about a route: nothing, the selected language, or code of the application's.
_PATH, _LANGUAGE, _CODE = range(3)
_ROUTES: Final = (URLPattern, URLResolver)
_PATTERNS: Final = (RoutePattern, RegexPattern)
_deciding: Final[dict[Any, int]] = {}
# What is kept of a request's host and URL follows from these. One that is replaced already is equal to nothing.
_get_host: Final = unreplaced(WSGIRequest, "get_host")[2]
_build_absolute_uri: Final = unreplaced(WSGIRequest, "build_absolute_uri")[2]
# Where Django keeps the settings that were read; reading one as an attribute takes 3,000 instructions.
_settings: Final[dict[str, Any]] = object.__getattribute__(settings, "__dict__")
_MISSING: Final = object()
# The hosts that Django has accepted, with the settings that decide about them.
_accepted: Final[dict[Any, bool]] = {}


def name_of(request: Any, method: str) -> str:
    """The name of a request's span, as `_get_span_name` makes it, for a known method."""
    match = request.resolver_match
    found = _of_match(match) if match else _found(request.path)
    return f"{method} {found}" if found else request.method


def _found(path: str) -> str:
    """The route of a path, kept where nothing else than the path and the language decides about it."""
    resolver = get_resolver(get_urlconf())
    decided = _CODE if _custom_converters else _decided_by(resolver)
    if decided == _CODE:
        return _resolved(path)
    # Django raises and catches an exception to find out that no language is selected.
    language = translation.get_language() if decided == _LANGUAGE else None
    key = (resolver, path, language)
    found = _names.get(key)
    if found is None:
        found = _resolved(path)
        # A route may be added later, and strangers ask for any path.
        if found is not _NOTHING and len(path) + len(found) <= LONGEST:
            keep(_names, key, found)
    return found


def _decided_by(resolver: Any) -> int:
    found = _deciding.get(resolver)
    if found is None:
        found = _most_of(resolver)
        keep(_deciding, resolver, found)
    return found


def _most_of(resolver: Any) -> int:
    """What decides about these routes beside the path: of several, the last one of `_PATH`, `_LANGUAGE`, `_CODE`."""
    most = _PATH
    for each in resolver.url_patterns:
        pattern = each.pattern
        if type(each) not in _ROUTES or type(pattern) not in (*_PATTERNS, LocalePrefixPattern):
            return _CODE
        texts = [text for name in ("_route", "_regex") if (text := getattr(pattern, name, None)) is not None]
        # Texts of other types may depend on the language.
        if type(pattern) is LocalePrefixPattern or any(type(text) is not str for text in texts):
            most = max(most, _LANGUAGE)
        if type(each) is URLResolver:
            most = max(most, _most_of(each))
    return most


def _resolved(path: str) -> str:
    try:
        return _of_match(resolve(path))
    except Resolver404:
        return _NOTHING


def _of_match(match: Any) -> str:
    return getattr(match, "route", None) or getattr(match, "url_name", None) or _NOTHING


def key_of_url(request: Any) -> tuple[Any, ...] | None:
    """What `build_absolute_uri("?")` follows from; None: that is not known."""
    if type(request) is not WSGIRequest or _setting("USE_X_FORWARDED_HOST") or _setting("SECURE_PROXY_SSL_HEADER"):
        return None
    if WSGIRequest.get_host is not _get_host or WSGIRequest.build_absolute_uri is not _build_absolute_uri:
        return None
    get = request.META.get
    return get("wsgi.url_scheme"), get("HTTP_HOST"), get("SERVER_NAME"), get("SERVER_PORT"), request.path


def is_refused(request: Any) -> bool:
    """Whether Django refuses the host of a request."""
    key = None
    host = request.META.get("HTTP_HOST")
    if type(request).get_host is _get_host and type(host) is str and not _setting("USE_X_FORWARDED_HOST"):
        key = (host, _setting("DEBUG"), *_setting("ALLOWED_HOSTS"))
        if key in _accepted:
            return False
    try:
        request.get_host()
    except DisallowedHost:
        return True
    if key is not None and len(host) <= LONGEST:
        keep(_accepted, key, True)  # noqa: FBT003  # a value
    return False


def _setting(name: str) -> Any:
    found = _settings.get(name, _MISSING)
    return getattr(settings, name) if found is _MISSING else found


def is_wsgi(request: Any) -> bool:
    """Whether this is a request in WSGI's form."""
    return isinstance(request, WSGIRequest) and type(request.META) is dict
