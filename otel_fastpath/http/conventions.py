"""What the HTTP hooks share: suppression and replaced functions, as stock's helpers decide, without their cost.

Compiled as `conventions_c`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from opentelemetry.context import _SUPPRESS_HTTP_INSTRUMENTATION_KEY, _SUPPRESS_INSTRUMENTATION_KEY
from opentelemetry.instrumentation import _semconv as semconv
from opentelemetry.trace.propagation import _SPAN_KEY

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import LISTS, UNKNOWN
from otel_fastpath.trace.context.current_context import current

if TYPE_CHECKING:
    from otel_fastpath.patching.stock import Stock

# The lists of the attributes that metrics have. An application may add to them, but what is made once for a kind of
# request has these values only.
_LISTS: Final = tuple(
    LISTS.setdefault(name, getattr(semconv, name))
    for name in (
        *("_server_duration_attrs_old", "_server_duration_attrs_new"),
        *("_server_active_requests_count_attrs_old", "_server_active_requests_count_attrs_new"),
        *("_client_duration_attrs_old", "_client_duration_attrs_new"),
    )
)
_KINDS: Final = frozenset(
    {
        *("error.type", "http.flavor", "http.host", "http.method", "http.request.method", "http.response.status_code"),
        *("http.route", "http.scheme", "http.server_name", "http.status_code", "net.host.name", "net.host.port"),
        *("net.peer.name", "net.peer.port", "network.protocol.version", "server.address", "server.port", "url.scheme"),
    }
)
_OLD, _NEW, _ACTIVE_OLD, _ACTIVE_NEW, _CLIENT_OLD, _CLIENT_NEW = _LISTS
_LENGTH: Final = sum(map(len, _LISTS)) if _KINDS.issuperset(name for each in _LISTS for name in each) else -1
_SUPPRESS_PLAIN: Final = "suppress_instrumentation"
# These upper-case names are the method label of themselves, whatever the environment says (`sanitize_method`).
METHODS: Final = frozenset(
    {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"},
)


class StockFunctions:
    """The functions of stock in whose place a hook stands: other code may replace them at any time.

    Args:
        stock: The functions.
        is_measured: Whether the lists of the attributes of metrics are read by them.
    """

    __slots__ = ("_facts", "_is_measured", "_stock")

    def __init__(self, stock: Stock, *, is_measured: bool = True) -> None:
        self._is_measured = is_measured
        self._stock = stock
        self._facts = Facts(UNKNOWN)

    def hold(self) -> bool:
        """Whether they are still stock's own, and the lists of the attributes of metrics, too."""
        if not self._facts.hold() and not self._stock.holds_again(self._facts):
            return False
        return not self._is_measured or _count_listed() == _LENGTH


def _count_listed() -> int:
    # No loop: this is done for each request.
    return len(_OLD) + len(_NEW) + len(_ACTIVE_OLD) + len(_ACTIVE_NEW) + len(_CLIENT_OLD) + len(_CLIENT_NEW)


def is_suppressed() -> bool:
    """Whether HTTP instrumentation is suppressed in the current context (`is_http_instrumentation_enabled`).

    True after a fault of ours, too: the host's call then runs without a span.
    """
    try:
        context = current()
        # Usually, there is nothing but a span.
        if not context or (len(context) == 1 and _SPAN_KEY in context):
            return False
        return bool(
            context.get(_SUPPRESS_INSTRUMENTATION_KEY)
            or context.get(_SUPPRESS_PLAIN)
            or context.get(_SUPPRESS_HTTP_INSTRUMENTATION_KEY)
        )
    except Exception as error:
        faults.absorb_any("looking for suppressed instrumentation", error)
        return True
