"""The releases and the sources of the stock HTTP instrumentations that the patches were written against."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from otel_fastpath.patching.sources.known import Known

_UTIL: Final = "opentelemetry.util.http"
EXCLUDING: Final = (f"{_UTIL}:ExcludeList.__init__", f"{_UTIL}:ExcludeList.url_disabled")
# What stock's servers call for the headers of a request and a response, even if none is captured.
SANITIZING: Final = (f"{_UTIL}:SanitizeValue.__init__", f"{_UTIL}:SanitizeValue.sanitize_header_values")
# What the hooks of all clients depend on, beside the functions that run for each call.
SHARED: Final = (
    *("opentelemetry.instrumentation.utils:is_http_instrumentation_enabled", f"{_UTIL}:redact_url"),
    *(f"{_UTIL}:redact_query_parameters", f"{_UTIL}:remove_url_credentials", f"{_UTIL}:sanitize_method"),
    *EXCLUDING,
)
# And those of the clients that use `http.client`.
SOCKETS: Final = (
    *(f"{_UTIL}.httplib:set_ip_on_next_http_connection", f"{_UTIL}.httplib:_getstate"),
    *("opentelemetry.instrumentation.utils:suppress_http_instrumentation",),
)
KNOWN: Final = Known(Path(__file__).with_name("sources.json"))
# The fingerprints of each "module:qualified.name" in the releases that tests/others/library_fingerprints.py has read.
sources: Final = KNOWN.sources


def imported(module: str, *names: str) -> dict[str, frozenset[str]]:
    """The fingerprints of functions of `opentelemetry.util.http` under the names by which a module has imported them.

    Other code may have replaced them there: a stricter `redact_url`, for example, must be the one that is called.
    """
    known = sources(*(f"{_UTIL}:{name}" for name in names))
    return {f"{module}:{name}": known[f"{_UTIL}:{name}"] for name in names}


def requires(name: str, oldest: str = "0.61b0") -> tuple[str, ...]:
    """The supported releases of `opentelemetry-instrumentation-<name>`."""
    return (f"opentelemetry-instrumentation-{name}>={oldest}",)
