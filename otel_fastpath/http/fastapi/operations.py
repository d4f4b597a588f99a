"""The spans of the parts of a request: its dependencies, the endpoint, the serialization, background tasks.

FastAPI makes them in a generator; here the context manager is a class. Compiled as `operations_c`.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from fastapi.exceptions import RequestValidationError, WebSocketRequestValidationError
from fastapi.telemetry import _api
from opentelemetry.trace import StatusCode
from starlette.exceptions import HTTPException, WebSocketException

from otel_fastpath.http.scopes import exit_scope
from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

api: Any = _api
_PLACE: Final = "a part of a request of FastAPI"
# The answer to a request, but no errors of the application.
_EXPECTED: Final = (HTTPException, RequestValidationError, WebSocketException, WebSocketRequestValidationError)


class FastapiOperation:
    """A span around a part of a request.

    Args:
        tracer: Makes the span.
        name: The part's name.
        function: What runs in it, or None.
    """

    __slots__ = ("_function", "_name", "_scope", "_span", "_tracer")

    def __init__(self, tracer: Any, name: str, function: Any) -> None:
        self._tracer = tracer
        self._name = name
        self._function = function
        self._scope: Any = None

    def __enter__(self) -> None:
        """Start the span and make it the current one."""
        scope = None
        try:
            function = self._function
            attributes = {}
            if function is not None:
                module = getattr(function, "__module__", type(function).__module__)
                name = getattr(function, "__qualname__", type(function).__qualname__)
                attributes["code.function.name"] = f"{module}.{name}"
            scope = self._tracer.start_as_current_span(
                f"fastapi.{self._name}", attributes=attributes, record_exception=False, set_status_on_exception=False
            )
            self._span = scope.__enter__()
            self._scope = scope
        except BaseException as fault:
            self._scope = None
            if scope is not None:
                exit_scope(scope, fault)
            faults.absorb_any(_PLACE, fault)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the span, with the type of an exception that is the application's fault."""
        scope = self._scope
        if scope is None:
            return
        try:
            if isinstance(error, Exception):
                self._describe(error)
        except Exception as fault:
            faults.absorb_any(_PLACE, fault)
        finally:
            self._leave(scope, kind, error, traceback)

    def _leave(self, scope: Any, kind: Any, error: Any, traceback: Any) -> None:
        try:
            scope.__exit__(kind, error, traceback)
        except BaseException as fault:
            # Stock's own scope is a generator, which raises the exception again.
            if fault is not error:
                exit_scope(scope, None)
                faults.absorb_any(_PLACE, fault)

    def _describe(self, error: Exception) -> None:
        if self._name != "background_task" and (
            isinstance(error, _EXPECTED) or api._normal_websocket_disconnect(error)
        ):
            return
        self._span.set_attribute("error.type", api._exception_type(error))
        self._span.set_status(StatusCode.ERROR)


def bind_operation(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the function that returns the context manager, in place of FastAPI's `_traced_operation`."""

    @functools.wraps(original)
    def _traced_operation(*, request_telemetry: Any, name: str, function: Any) -> Any:
        try:
            return FastapiOperation(request_telemetry.tracer, name, function)
        except Exception as fault:
            faults.absorb_any(_PLACE, fault)
        return original(request_telemetry=request_telemetry, name=name, function=function)

    return _traced_operation
