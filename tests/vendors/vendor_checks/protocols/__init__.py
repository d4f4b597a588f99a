"""The vendors' protocols: each module decodes the requests of one, and says how its server answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vendor_checks.items import Item
from vendor_checks.protocols import azure, datadog, gcp, newrelic, otlp, plain, prometheus, sentry

if TYPE_CHECKING:
    from vendor_checks.receiver import Request

PROTOCOLS = (otlp, sentry, azure, datadog, gcp, newrelic, prometheus, plain)
# Of no interest: they depend on the size of the body, on the port, or on the connection.
_HEADERS_LEFT_OUT = re.compile(r"content-length|host|connection|transfer-encoding|traceparent|.*-(retry|sent-at)")


def answer_to(request: Request) -> tuple[int, str, bytes]:
    """The status, the content type and the body of the vendor's answer."""
    return _protocol(request).answer(request)


def decode(request: Request) -> list[Item]:
    """What the request carries, and an item for the request itself, whose like is compared once."""
    headers = {name: value for name, value in request.headers.items() if not _HEADERS_LEFT_OUT.fullmatch(name)}
    shape = {"method": request.method, "path": request.path, "headers": headers}
    name = f"{request.method} {request.path.partition('?')[0]}"
    return [Item("request", name, shape, series=repr(shape)), *_protocol(request).decode(request)]


def _protocol(request: Request):
    return next(protocol for protocol in PROTOCOLS if protocol.PATHS.search(request.path.partition("?")[0]))
