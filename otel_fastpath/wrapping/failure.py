"""Describing and recording exceptions that the host's call raised. Raises no `Exception`: see `patching.outcome`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from opentelemetry.trace.status import Status, StatusCode

from otel_fastpath.patching import faults
from otel_fastpath.patching.outcome import call_guarded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Failure(NamedTuple):
    """What is recorded of an exception.

    Attributes:
        type: The `error.type` of the span and of the metric; empty if it is not an error, such as a generator's end.
        attributes: Further attributes of the span.
        description: The description of the span's status; must contain no private data.
        recorded: Whether the exception becomes an event of the span.
    """

    type: str
    attributes: Mapping[str, Any] | None = None
    description: str | None = None
    recorded: bool = True


# For an exception whose type's name cannot be read.
_UNKNOWN: Final = Failure("_OTHER", recorded=False)


def error_type(error: BaseException) -> str:
    """The canonical name of an exception's type: module and qualified name, bare for builtins."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def describe(error: BaseException) -> Failure:
    """Describe an exception that the library knows no more about."""
    if isinstance(error, GeneratorExit):
        # The coroutine was closed early, so it is unknown whether the call would have failed.
        return Failure("")
    name = error_type(error)
    return Failure(name, description=type(error).__qualname__, recorded=isinstance(error, Exception))


def describe_error(place: str, own: Callable[[BaseException], Failure], error: BaseException) -> Failure:
    """Describe an exception with the library's own function; if that fails, as any other exception."""
    return call_guarded(place, own, error) or call_guarded(place, describe, error) or _UNKNOWN


def named(error: BaseException) -> tuple[str, str | None]:
    """The `error.type` and the text of an exception of a model's client; "_OTHER" and None if they cannot be read."""
    kind, message = _UNKNOWN.type, None
    try:
        kind = getattr(error, "_gen_ai_error_type", None) or error_type(error)
        message = str(error)
    except Exception as fault:  # a custom exception may raise anything
        faults.raise_interruption(fault)
        return kind, None
    return kind, message


def put_failure(place: str, span: Any, failure: Failure, error: BaseException) -> None:
    """Record a failure on a recording span."""
    if failure.recorded:
        call_guarded(place, _record, span, failure, error)
    call_guarded(place, _put, span, failure)


def _record(span: Any, failure: Failure, error: BaseException) -> None:
    try:
        span.record_exception(error)
    except Exception as fault:
        faults.raise_interruption(fault)
        # The exception's own text cannot be read; record the rest.
        span.add_event("exception", {"exception.type": failure.type, "exception.message": repr(type(fault))})


def _put(span: Any, failure: Failure) -> None:
    if failure.attributes:
        span.set_attributes(failure.attributes)
    span.set_attribute("error.type", failure.type)
    span.set_status(Status(StatusCode.ERROR, failure.description))
