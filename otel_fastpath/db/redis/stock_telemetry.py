"""The attributes and names of spans as in the stock instrumentation, which ours replaces, and its hooks.

Its own functions return them. Unless everything must be the same, a span is named after the command even if its
arguments were passed with the name, and a pipeline's after what its commands have in common, not after all of them.
"""

from __future__ import annotations

import functools
import inspect
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db.conventions import Conventions
from otel_fastpath.db.stand_ins import CollectedAttributes, OneTracer
from otel_fastpath.patching.stock import Reached
from otel_fastpath.patching.swapping import swap

if TYPE_CHECKING:
    from otel_fastpath.db.redis.commands import Command, PipelineCommands
    from otel_fastpath.db.server_attributes import Server
    from otel_fastpath.wrapping.library import Setup

_STOCK: Final = "opentelemetry.instrumentation.redis"
_HOOKS: Final = ("request_hook", "response_hook")
# The functions that make its wrappers.
COMMAND: Final = "command"
ASYNC_COMMAND: Final = "async_command"
PIPELINE: Final = "pipeline"
ASYNC_PIPELINE: Final = "async_pipeline"
FACTORIES: Final = {
    COMMAND: "_traced_execute_factory",
    PIPELINE: "_traced_execute_pipeline_factory",
    ASYNC_COMMAND: "_async_traced_execute_factory",
    ASYNC_PIPELINE: "_async_traced_execute_pipeline_factory",
}
# The names that it has for commands of which it tells more.
_CREATE: Final = "redis.create_index"
_SEARCH: Final = "redis.search"


class StockConventions(Conventions):
    """What the stock instrumentation emits, under its own scope.

    Args:
        setup: Our wrapper's set-up, with the keyword arguments that the stock instrumentor was given.

    Attributes:
        captures: Whether it was given hooks.
        most: How many commands of a pipeline are read: all.
    """

    most = None

    def __init__(self, setup: Setup) -> None:
        self._module: Any = sys.modules[_STOCK]
        self._is_same = setup.is_same
        hooks = [setup.keywords.get(name) for name in _HOOKS]
        self._request, self._response = (hook if callable(hook) else None for hook in hooks)
        self.captures = any(map(callable, hooks))
        signals = self._module._OpenTelemetryStabilitySignalType
        self._module._OpenTelemetrySemanticConventionStability._initialize()
        self._modes = self._module._get_semconv_opt_in_modes((signals.DATABASE, signals.HTTP))
        self._signals = (signals.DATABASE, signals.HTTP)
        self.stock = Reached([(self._module, factory) for factory in FACTORIES.values()])
        self._wrappers: dict[str, Any] = {}

    def tracer(self, tracer_provider: Any) -> Any:
        tracer = self._module.RedisInstrumentor._get_tracer(tracer_provider=tracer_provider)
        hooks = (self._request, self._response)
        for method, factory in FACTORIES.items():
            # Without ours, which leaves all commands to our wrappers.
            self._wrappers[method] = swap.seen_through(getattr(self._module, factory))(tracer, *hooks)
        return tracer

    def around(self, method: str, args: Any, original: Any) -> Any:
        """Stock's code around a method of a client, which is called so in `FACTORIES`."""
        wrapper, client = self._wrappers[method], args[0]
        bound = functools.partial(original, client)
        return lambda _client, *rest, **kwargs: wrapper(bound, client, rest, kwargs)

    def key_of(self, kind: str, every: list[Any]) -> Any:
        """What a pipeline's plan is kept by."""
        return kind, tuple([args[0] for args in every]), tuple(map(len, every))

    def of_command(self, command: Command, server: Server, own: Any) -> tuple[str, dict[str, Any]]:  # noqa: ARG002  # as Stable's
        """The name and attributes of a command's span; `own` is what it tells of the pool, or None."""
        given = command.given if self._is_same else command.name or "redis"
        args = (given, *([None] * command.arguments))
        found = self._stated(self._module._format_command_args(args))
        found["db.redis.args_length"] = len(args)
        return self._module._build_span_name(_client(own or ()), args), self._with_server(found, own)

    def of_batch(self, batch: PipelineCommands, server: Server, own: Any) -> tuple[str, dict[str, Any]]:  # noqa: ARG002  # as Stable's
        """The name and attributes of a pipeline's span, with the same arguments."""
        stack: list[Any] = [((command.given, *([None] * command.arguments)), {}) for command in batch.commands]
        _, text, name = self._module._build_span_meta_data_for_pipeline(SimpleNamespace(command_stack=stack))
        found = self._stated(text)
        found["db.redis.pipeline_length"] = len(stack)
        return name if self._is_same else batch.name, self._with_server(found, own)

    def _stated(self, text: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._module._set_db_statement(found, text, self._modes[self._signals[0]])
        return found

    def _with_server(self, found: dict[str, Any], own: Any) -> dict[str, Any]:
        if own is not None:
            collected = CollectedAttributes(found)
            modes = [self._modes[signal] for signal in self._signals]
            self._module._set_connection_attributes(collected, _client(own), *modes)
            return dict(collected)
        return found

    def request(self, method: str, call: Any, args: Any, kwargs: Any) -> None:
        """Call its hook for the request of a recording call, and add what it tells of an index that is created."""
        if self._request is not None:
            self._module._execute_hook(self._request, call.span, args[0], args[1:], kwargs)
        if method == COMMAND and call.plan.name == _CREATE:
            self._module._add_create_attributes(call.span, args[1:])

    def response(self, method: str, call: Any, args: Any, result: Any) -> None:
        """Add what it tells of a search, and call its hook for the response; the result of what raised is None."""
        if method == COMMAND and call.plan.name == _SEARCH:
            self._module._add_search_attributes(call.span, result, args[1:])
        if self._response is not None:
            self._module._execute_hook(self._response, call.span, args[0], result)


def _client(own: Any) -> Any:
    """What its functions read of a client."""
    return SimpleNamespace(connection_pool=SimpleNamespace(connection_kwargs=dict(own)))


def given_keywords(_instrumentor: Any) -> dict[str, Any]:
    """The keyword arguments that the stock instrumentor was given: its wrapper of `execute_command` has them."""
    wrapper = sys.modules["redis"].Redis.execute_command._self_wrapper
    held = inspect.getclosurevars(wrapper).nonlocals
    given: dict[str, Any] = {name: held[name] for name in _HOOKS if held.get(name) is not None}
    return {**given, "tracer_provider": OneTracer(held["tracer"])}
