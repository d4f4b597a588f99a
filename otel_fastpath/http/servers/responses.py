"""The status of a response, on the span and for the metrics, as stock's `_set_status` puts it there.

Plain Python; compiled as `responses_c`.
"""

from __future__ import annotations

from typing import Any

from opentelemetry.instrumentation.utils import http_status_to_status_code
from opentelemetry.semconv._incubating.attributes.http_attributes import HTTP_STATUS_CODE
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.semconv.attributes.http_attributes import HTTP_RESPONSE_STATUS_CODE
from opentelemetry.trace.status import Status, StatusCode

from otel_fastpath.patching import faults

_ERROR = Status(StatusCode.ERROR)
# Lower and higher ones are errors of a server.
_LOWEST, _HIGHEST = 100, 499


class ResponseTelemetry:
    """What is known of the response to a request.

    Attributes:
        code: The status, or None: there was none.
        error: The value of `error.type` for the metrics, or None.
    """

    __slots__ = ("code", "error", "has_new", "has_old")

    def __init__(self, has_old: bool, has_new: bool) -> None:
        self.has_old = has_old
        self.has_new = has_new
        self.code: int | None = None
        self.error: str | None = None

    def put(self, span: Any, code: int, text: str) -> None:
        """Put the status on the span and keep it for the metrics.

        Args:
            span: The span.
            code: The status; negative: it is not a number.
            text: The status as a text.
        """
        if self.show(span, code, text) and self.has_new:
            self.error = text
        if code >= 0:
            self.code = code

    def show(self, span: Any, code: int, text: str) -> bool:
        """Put the status on the span only; return whether it is an error."""
        if code < 0:
            if span.is_recording():
                if self.has_new:
                    span.set_attribute(ERROR_TYPE, text)
                span.set_status(_not_a_number(text))
            return True
        is_error = _is_error(code)
        if not span.is_recording():
            return is_error
        if self.has_old:
            span.set_attribute(HTTP_STATUS_CODE, code)
        if self.has_new:
            span.set_attribute(HTTP_RESPONSE_STATUS_CODE, code)
            if is_error:
                span.set_attribute(ERROR_TYPE, text)
        # Stock sets the status UNSET, too, which changes nothing.
        if is_error:
            span.set_status(_ERROR)
        return is_error

    def describe(self, attributes: dict[str, Any], code: int, text: str) -> Status | None:
        """Add what `show` puts on a span to the attributes of one that starts with them; return its status."""
        if code < 0:
            if self.has_new:
                attributes[ERROR_TYPE] = text
            return _not_a_number(text)
        is_error = _is_error(code)
        if self.has_old:
            attributes[HTTP_STATUS_CODE] = code
        if self.has_new:
            attributes[HTTP_RESPONSE_STATUS_CODE] = code
            if is_error:
                attributes[ERROR_TYPE] = text
        return _ERROR if is_error else None

    def put_status(self, span: Any, status: str) -> None:
        """The same with the status of a WSGI response. Its reason may be missing."""
        text = status.partition(" ")[0]
        self.put(span, code_of(text), text)


def code_of(status: Any) -> int:
    """The number of a status, which may be a text; -1 if it is none."""
    if type(status) is int:
        return status
    try:
        return int(status)
    except ValueError:
        return -1


def _is_error(code: int) -> bool:
    return not _LOWEST <= code <= _HIGHEST and http_status_to_status_code(code, server_span=True) is StatusCode.ERROR


def _not_a_number(text: str) -> Status:
    return Status(StatusCode.ERROR, "Non-integer HTTP status: " + text)


def record_error(span: Any, error: Exception) -> None:
    """Record an exception that left the code in which the span is current, as `use_span` does."""
    if span.is_recording():
        span.record_exception(error)
        span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {faults.text_of(error)}"))
