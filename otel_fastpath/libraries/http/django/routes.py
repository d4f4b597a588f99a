"""The names of Django's spans before Django has resolved the path, and which requests are excluded or refused.

A path is resolved once: what `resolve` finds is kept as long as it follows from the path.
"""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.wsgi import WSGIRequest
from django.urls import Resolver404, converters, get_resolver, get_urlconf, resolve
from django.urls.resolvers import RegexPattern, RoutePattern
from django.utils import translation

from otel_fastpath.libraries.http.bounded import LONGEST, keep

# Converters of the application may look into a database; where they are not known, nothing is kept.
_custom_converters: Final[Any] = getattr(converters, "REGISTERED_CONVERTERS", True)
# The requests that no route matches.
_NOTHING: Final = ""
_names: Final[dict[Any, str]] = {}
# Patterns of other types, such as those of `i18n_patterns`, and texts of other types may depend on the language.
_PATTERNS: Final = (RoutePattern, RegexPattern)
_translated: Final[dict[Any, bool]] = {}
_get_host: Final = WSGIRequest.get_host
# Where Django keeps the settings that were read; reading one as an attribute takes 3,000 instructions.
_settings: Final[dict[str, Any]] = object.__getattribute__(settings, "__dict__")
_MISSING: Final = object()
# The hosts that Django has accepted, with the settings that decide about them.
_accepted: Final[dict[Any, bool]] = {}


def name_of(request: Any, method: str) -> str:
    """The name of a request's span, as `_get_span_name` makes it, for a known method."""
    match = request.resolver_match
    if match:
        found = _of_match(match)
    elif _custom_converters:
        found = _resolved(request.path)
    else:
        resolver = get_resolver(get_urlconf())
        # Django raises and catches an exception to find out that no language is selected.
        language = translation.get_language() if _is_translated(resolver) else None
        key = (resolver, request.path, language)
        kept = _names.get(key)
        if kept is None:
            kept = _resolved(request.path)
            if len(request.path) + len(kept) <= LONGEST:
                keep(_names, key, kept)
        found = kept
    return f"{method} {found}" if found else request.method


def _is_translated(resolver: Any) -> bool:
    """Whether the routes depend on the selected language."""
    found = _translated.get(resolver)
    if found is None:
        found = _has_translations(resolver)
        keep(_translated, resolver, found)
    return found


def _has_translations(resolver: Any) -> bool:
    for each in resolver.url_patterns:
        pattern = each.pattern
        texts = [text for name in ("_route", "_regex") if (text := getattr(pattern, name, None)) is not None]
        if type(pattern) not in _PATTERNS or not texts or any(type(text) is not str for text in texts):
            return True
        if hasattr(each, "url_patterns") and _has_translations(each):
            return True
    return False


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
