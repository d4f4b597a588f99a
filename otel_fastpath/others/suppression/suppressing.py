"""Suppressing instrumentation, and asking whether it is suppressed. Plain Python; compiled as `suppressing_c`.

A class replaces stock's two nested generator context managers: it sets the keys in one copy of the current context.
"""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import TYPE_CHECKING

from opentelemetry.context.context import Context

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import drop_finalizer, get_value
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import UNKNOWN
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.trace.context.current_context import READING_VALUE, _variable, attach_flags, detach, restore
from otel_fastpath.trace.context.scope import Scope, ScopeKind, fill, try_leave

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

_PLACE = "suppressing instrumentation"
_ASKING = "is_instrumentation_enabled"
_ASKING_FOR_HTTP = "is_http_instrumentation_enabled"
_SUPPRESSING_HTTP = "suppress_http_instrumentation"
_ASKING_PLACE = "asking whether instrumentation is suppressed"
_KEYS = ("_SUPPRESS_INSTRUMENTATION_KEY", "_SUPPRESS_INSTRUMENTATION_KEY_PLAIN", "_SUPPRESS_HTTP_INSTRUMENTATION_KEY")
# Stock's own function.
_stock_decorate = ContextDecorator.__call__
# What stock's code finds in its module and in the API; `rest_on` says what that is.
_suppressing = Facts(UNKNOWN)
_asking = Facts(UNKNOWN)
_asking_for_http = Facts(UNKNOWN)


def rest_on(module: ModuleType, name: str) -> tuple[str, ...]:
    """Take what stock's module has now as what the replacement of this name stands for; returns the module's keys."""
    names = ("context", *(_KEYS[:2] if name == _ASKING else _KEYS))
    items: list[tuple[object, str, object]] = [(module, each, getattr(module, each)) for each in names]
    if name in {_ASKING, _ASKING_FOR_HTTP}:
        items += READING_VALUE
    else:
        items.append((module, "_suppress_instrumentation", module._suppress_instrumentation))
    if name == _ASKING_FOR_HTTP:
        items.append((module, _ASKING, getattr(module, _ASKING)))
    {_ASKING: _asking, _ASKING_FOR_HTTP: _asking_for_http}.get(name, _suppressing).renew(items)
    return tuple(getattr(module, each) for each in _KEYS)


class Suppression(Scope):
    """Suppresses instrumentation for a `with` block, or for each call of a decorated function.

    Of the fields of a scope, `_start` are the keys to set, and `_span` is the context manager of stock that was entered
    instead.
    """

    __slots__ = ()

    def __call__(self, func: Callable[..., object]) -> Callable[..., object]:
        """Decorate a function: in each call of it, instrumentation is suppressed."""
        if not self._state:
            drop_finalizer(self, Suppression)
        return _stock_decorate(self, func)  # type: ignore[arg-type]  # it has the method that is called

    def __enter__(self) -> Any:
        """Set the keys in the current context; returns None."""
        # Counts as left until the context has been attached.
        if self._span is not None:
            return self._span.__enter__()
        if not try_leave(self, 0):
            raise AttributeError("the context manager was entered already; it is used once")
        try:
            try:
                if _suppressing.hold():
                    self._token = attach_flags(self._start)
            except Exception as error:
                faults.absorb(_PLACE, error)
            if self._token is None:
                stock = self._make_as_stock()
                stock.__enter__()
                self._span = stock
            self._state = 1
            return None  # noqa: TRY300  # an exception may still arrive here
        except BaseException:
            self._state = 2
            self._leave_as_stock()
            drop_finalizer(self, Suppression)
            raise

    def __exit__(self, kind: object, error: object, traceback: object) -> Any:
        """Restore the context. Never swallows an exception."""
        if self._span is not None:
            return self._span.__exit__(kind, error, traceback)  # type: ignore[arg-type]  # stock's context manager
        try:
            if try_leave(self, 1):
                detach(self._token)
                self._token = None
                drop_finalizer(self, Suppression)
                return False
        except BaseException as fault:
            # It may have arrived before the context manager counted as left.
            self._state = 2
            self._leave_as_stock()
            drop_finalizer(self, Suppression)
            faults.absorb(_PLACE, fault)
        if self._state:
            return False
        # Never entered.
        self._span = self._make_as_stock()
        return self._span.__exit__(kind, error, traceback)

    def _make_as_stock(self) -> Any:
        return self._manner.instead()  # type: ignore[misc]  # stock's function

    def _leave_as_stock(self) -> None:
        if self._token is not None:
            restore(self._token)
            self._token = None


class OpenSuppression(Suppression):
    """One that has not been left; as `OpenScope`."""

    __slots__ = ()

    def __del__(self) -> None:
        """Leave it."""
        # As in `OpenScope.__del__`: entered but never left. Stock's own context manager leaves itself.
        try:
            is_entered = self._state == 1 and self._span is None
        except AttributeError:
            return
        if is_entered:
            try:
                raise GeneratorExit  # noqa: TRY301  # stock logs while it handles this exception
            except GeneratorExit:
                self.__exit__(GeneratorExit, None, None)


def bind(original: Callable[..., Any], module: ModuleType, name: str) -> Callable[..., object]:
    """Make the replacement for the function of this name in stock's module."""
    keys = rest_on(module, name)
    if name == _ASKING_FOR_HTTP:
        return _bind_asking_for_http(original, keys)
    if name == _ASKING:
        return _bind_asking(original, keys[:2])
    return _bind_suppressing(original, keys[2:] if name == _SUPPRESSING_HTTP else keys[:2])


def _bind_suppressing(original: Callable[..., Any], keys: tuple[str, ...]) -> Callable[..., object]:
    switch = Switch()
    manner = ScopeKind(original, ())
    manner.scope_class = OpenSuppression

    def suppress() -> object:
        try:
            if not switch.inert:
                return fill(OpenSuppression.__new__(OpenSuppression), manner, keys, False)  # noqa: FBT003  # its field
        except Exception as error:
            faults.absorb(_PLACE, error)
        return original()

    return make_switchable(original, suppress, switch)


# Each asks for its own keys: with one call or look-up more, the pure core would be dearer than stock.


def _bind_asking(original: Callable[[], bool], keys: tuple[str, ...]) -> Callable[..., object]:
    switch = Switch()
    first, second = keys

    def is_enabled() -> object:
        try:
            if not switch.inert and _asking.hold():
                context = get_value(_variable)
                if type(context) is Context:
                    if context.get(first) is None and context.get(second) is None:
                        return True
                    if _is_any_true(context, keys):
                        return False
        except Exception as error:
            faults.absorb(_ASKING_PLACE, error)
        return original()

    return make_switchable(original, is_enabled, switch)


def _bind_asking_for_http(original: Callable[[], bool], keys: tuple[str, ...]) -> Callable[..., object]:
    switch = Switch()
    first, second, third = keys

    def is_enabled() -> object:
        try:
            if not switch.inert and _asking_for_http.hold():
                context = get_value(_variable)
                if type(context) is Context:
                    if context.get(first) is None and context.get(second) is None and context.get(third) is None:
                        return True
                    if _is_any_true(context, keys):
                        return False
        except Exception as error:
            faults.absorb(_ASKING_PLACE, error)
        return original()

    return make_switchable(original, is_enabled, switch)


def _is_any_true(context: Context, keys: tuple[str, ...]) -> bool:
    """Whether one of the keys is set to True, and those before it are not set.

    What else is true is up to the value's own `__bool__`, which stock asks.
    """
    for key in keys:
        value = context.get(key)
        if value is not None:
            return value is True
    return False
