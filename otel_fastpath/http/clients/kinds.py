"""Makes the shapes and answers of outgoing calls (see `outgoing`) with stock's own functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation._semconv import (
    _client_duration_attrs_new,
    _client_duration_attrs_old,
    _filter_semconv_duration_attrs,
    _set_http_url,
    _StabilityMode,
)
from opentelemetry.trace import Status, StatusCode

from otel_fastpath.metrics.bind import bind

if TYPE_CHECKING:
    from collections.abc import Callable


class Seen:
    """A span that shows what stock's functions set.

    Attributes:
        attributes: In the order in which the SDK would have them.
        error: The status, if it is an error.
    """

    def __init__(self) -> None:
        self.attributes: dict[str, Any] = {}
        self.error: Status | None = None

    def is_recording(self) -> bool:
        """A recording span."""
        return True

    def set_attribute(self, key: str, value: Any) -> None:
        """As `Span.set_attribute`: an attribute that is set again moves to the end."""
        self.attributes.pop(key, None)
        self.attributes[key] = value

    def set_attributes(self, attributes: Any) -> None:
        """As `Span.set_attributes`."""
        for key, value in attributes.items():
            self.set_attribute(key, value)

    def set_status(self, status: Any, _description: str | None = None) -> None:
        """As `Span.set_status`."""
        made = status if isinstance(status, Status) else Status(status)
        if made.status_code is StatusCode.ERROR:
            self.error = made


def old_attributes(metric: dict[str, Any]) -> dict[str, Any]:
    """Those attributes that a metric of the old conventions has."""
    lists = _client_duration_attrs_old, _client_duration_attrs_new
    return _filter_semconv_duration_attrs(metric, *lists, _StabilityMode.DEFAULT)


def new_attributes(metric: dict[str, Any]) -> dict[str, Any]:
    """Those attributes that a metric of the new conventions has."""
    lists = _client_duration_attrs_old, _client_duration_attrs_new
    return _filter_semconv_duration_attrs(metric, *lists, _StabilityMode.HTTP)


def url_keys(mode: Any) -> tuple[str, ...]:
    """The attributes with the URL, in these conventions."""
    keys: dict[str, Any] = {}
    _set_http_url(keys, "-", mode)
    return tuple(keys)


def new_answer(answer: Callable[..., Any], seen: Seen, metric: dict[str, Any], old: Any, new: Any) -> Any:
    """Make an `Answer`.

    Args:
        answer: The class, of the core that is used.
        seen: What stock's functions set on the span.
        metric: The attributes of its metrics.
        old: The duration histogram of the old conventions, or None.
        new: That of the new ones, or None.
    """
    old = None if old is None else bind(old, old_attributes(metric))
    new = None if new is None else bind(new, new_attributes(metric))
    return answer(seen.attributes, seen.error, metric, old, new)
