"""Wrappers of the methods that send a command or a pipeline: the shortest path, taken by every call."""

from __future__ import annotations

import functools
import sys
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.db.conventions import shorten
from otel_fastpath.db.redis import commands, stock_telemetry
from otel_fastpath.db.redis.query_plans import CONNECTION_PLAN, DATABASE
from otel_fastpath.db.redis.stock_telemetry import StockConventions
from otel_fastpath.patching import faults
from otel_fastpath.patching.outcome import call_guarded, call_guarded_during
from otel_fastpath.wrapping import call as calls

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.db.database import Entrance

    Holder = Callable[[Any], Any]

# Commands that need attributes beyond those in the plan; the second two only for stock's.
_PROCEDURES: Final = frozenset({"EVALSHA", "EVALSHA_RO", "FCALL", "FCALL_RO"})
_WITH_MORE_ATTRIBUTES: Final = _PROCEDURES | {"FT.CREATE", "FT.SEARCH"}
_PIPELINES: Final = frozenset({stock_telemetry.PIPELINE, stock_telemetry.ASYNC_PIPELINE})
# The client, the command and the first of its arguments.
_WITH_ARGUMENT: Final = 3
_LONGEST_PROCEDURE: Final = 64
# How far below redis-py's script its command can be, with other people's wrappers between.
_DEEPEST: Final = 24


def _async_cluster_of(pipeline: Any) -> Any:
    client = getattr(pipeline, "cluster_client", None)
    return pipeline._client if client is None else client


def _of_cluster_pubsub(pubsub: Any) -> Any:
    pool = pubsub.connection_pool
    return pubsub.cluster.nodes_manager if pool is None else pool


def _itself(client: Any) -> Any:
    return client


# Where the connection plan of a client is stored, and its pipelines': with its connections.
POOL: Final[Holder] = attrgetter("connection_pool")
CLUSTER: Final[Holder] = attrgetter("nodes_manager")
ASYNC_CLUSTER: Final[Holder] = _itself
ASYNC_CLUSTER_OF: Final[Holder] = _async_cluster_of
CLUSTER_PUBSUB: Final[Holder] = _of_cluster_pubsub


def _entrance(method: str, holder_of: Holder) -> Entrance:
    """Where the wrapper of a method finds what begins its command or pipeline."""
    if method not in _PIPELINES:
        return DATABASE.entrance(
            (stock_telemetry.COMMAND, holder_of),
            lambda active: hot.db_entering.Commands(active, DATABASE, holder_of, CONNECTION_PLAN).enter,
        )
    return DATABASE.entrance(
        (stock_telemetry.PIPELINE, holder_of), lambda active: functools.partial(_enter_pipeline, active, holder_of)
    )


def _enter_pipeline(active: Any, holder_of: Holder, call: Any, args: Any, _kwargs: Any) -> bool:
    """Begin the pipeline of a client's method; returns whether it is instrumented."""
    has_begun = False
    try:
        if call.has_more:
            return False
        holder = holder_of(args[0])
        connection_plan = getattr(holder, CONNECTION_PLAN, None)
        if connection_plan is None or connection_plan.active is not active:
            connection_plan = DATABASE.new_connection_plan(holder)
        kind, every = _commands(args[0])
        if not every and not active.is_same and not getattr(args[0], "watching", False):
            # Nothing is sent.
            return False
        key = active.convention.key_of(kind, every)
        plan = connection_plan.queries_with_arguments.get(key)
        if plan is None:
            plan = connection_plan.plans.of_batch(key, kind, every)
        has_begun = active.hot.open_query(call, connection_plan, plan, 0, None)
        # One connection plan serves all connections of the pool.
        connection_plan.call = None
        if has_begun and call.recording and len(every) != 1 and not active.is_same:
            call.span.set_attribute("db.operation.batch.size", len(every))
    except Exception as error:
        faults.absorb_any(DATABASE.place, error)
    return has_begun


def _otherwise(method: str, args: Any, original: Any) -> Any:
    """What runs a call that was not begun: see `calls.otherwise`."""
    active = DATABASE.active
    if active is None or not active.replacements.exist():
        return original
    return call_guarded(DATABASE.place, active.convention.around, method, args, original) or original


def _commands(pipeline: Any) -> tuple[str, list[Any]]:
    """The kind of a pipeline, and the arguments of each of its commands."""
    stack = getattr(pipeline, "command_stack", None)
    strategy = getattr(pipeline, "_execution_strategy", None)
    if strategy is not None:
        kind = commands.MULTI if type(strategy).__name__ == "TransactionStrategy" else commands.PIPELINE
        return kind, [command.args for command in strategy._command_queue]
    if stack is None:
        # An asynchronous cluster's, before redis-py 6.
        return commands.PIPELINE, [command.args for command in pipeline._command_stack]
    own = vars(pipeline)
    if own.get("transaction") or own.get("is_transaction") or own.get("explicit_transaction"):
        return commands.MULTI, [command[0] for command in stack]
    # A cluster's, before redis-py 6, are objects.
    return commands.PIPELINE, [command[0] if type(command) is tuple else command.args for command in stack]


def around(method: str, holder_of: Holder, original: Any) -> Any:
    """Wrap a method that sends a command or a pipeline.

    Args:
        method: What it is called in `stock.FACTORIES`.
        holder_of: Returns the object that stores the connection plan of such a client.
        original: The method.
    """
    is_pipeline = method in _PIPELINES
    entrance = _entrance(method, holder_of)

    @functools.wraps(original)
    def execute(*args: Any, **kwargs: Any) -> Any:
        call = entrance.new()
        if call is None:
            return original(*args, **kwargs)
        try:
            if not entrance.enter(call, args, kwargs):
                host = _otherwise(method, args, original) if call.has_more else original
                return host(*args, **kwargs)
            has_more_attributes = DATABASE.is_curious or (not is_pipeline and args[1] in _WITH_MORE_ATTRIBUTES)
            if has_more_attributes:
                call_guarded_during(call, DATABASE.place, _request, method, call, args, kwargs)
            result = original(*args, **kwargs)
            if has_more_attributes:
                call_guarded_during(call, DATABASE.place, _response, method, call, args, result)
            call.done(result)
        except BaseException as error:
            try:
                _fail(is_pipeline, call, args, error)
            finally:
                # See `wrapping.call`: the first may have been interrupted.
                call.end_failed(error)
            raise
        return result

    return execute


def around_async(method: str, holder_of: Holder, original: Any) -> Any:
    """The same for a method that returns an awaitable."""
    is_pipeline = method in _PIPELINES
    entrance = _entrance(method, holder_of)

    @functools.wraps(original)
    async def execute(*args: Any, **kwargs: Any) -> Any:
        call = entrance.new()
        if call is None:
            return await original(*args, **kwargs)
        try:
            if not entrance.enter(call, args, kwargs):
                host = _otherwise(method, args, original) if call.has_more else original
                return await host(*args, **kwargs)
            has_more_attributes = DATABASE.is_curious or (not is_pipeline and args[1] in _WITH_MORE_ATTRIBUTES)
            if has_more_attributes:
                call_guarded_during(call, DATABASE.place, _request, method, call, args, kwargs)
            result = await original(*args, **kwargs)
            if has_more_attributes:
                call_guarded_during(call, DATABASE.place, _response, method, call, args, result)
            call.done(result)
        except BaseException as error:
            try:
                _fail(is_pipeline, call, args, error)
            finally:
                # See `wrapping.call`: the first may have been interrupted.
                call.end_failed(error)
            raise
        return result

    return execute


def _request(method: str, call: Any, args: Any, kwargs: Any) -> None:
    """Record a command's arguments, and call the hook that the stock instrumentation was given."""
    active = call.connection_plan.active
    if not call.recording or method in _PIPELINES:
        return
    if active.reads_parameters and commands.is_plain(args[1]) and not commands.is_secret(args[1]):
        shown = args[2 : 2 + commands.MOST_SHOWN]
        if call.is_timed:
            call.parameters = shown
        if active.options.parameters:
            call.span.set_attributes({f"db.query.parameter.{at}": shorten(value) for at, value in enumerate(shown)})
    if isinstance(active.convention, StockConventions):
        active.convention.request(method, call, args, kwargs)
    elif args[1] in _PROCEDURES and len(args) >= _WITH_ARGUMENT:
        name = args[2].decode("utf-8", "replace") if isinstance(args[2], bytes) else str(args[2])
        call.span.set_attribute("db.stored_procedure.name", name[:_LONGEST_PROCEDURE])


def _response(method: str, call: Any, args: Any, result: Any) -> None:
    """Call the hook that the stock instrumentation was given for responses."""
    convention = call.connection_plan.active.convention
    if call.recording and isinstance(convention, StockConventions):
        convention.response(method, call, args, result)


def _fail(is_pipeline: bool, call: Any, args: Any, error: BaseException) -> None:
    """End a command or a pipeline that raised this, if it has begun."""
    if call._telemetry is None:
        return
    if is_pipeline:
        # The stock instrumentation has a response of one that must be repeated.
        if DATABASE.is_curious and type(error).__name__ == "WatchError":
            call_guarded_during(call, DATABASE.place, _response, stock_telemetry.PIPELINE, call, args, None)
    elif call_guarded(DATABASE.place, _is_handled, error):
        # redis-py sends the script and repeats the command.
        call.done(None)
        return
    else:
        call_guarded(DATABASE.place, _keep_secret, call, args)
    call.end_failed(error)


def _is_handled(error: BaseException) -> bool:
    """Whether this says that the server does not have a script, to redis-py's own object for scripts."""
    if type(error).__name__ != "NoScriptError":
        return False
    from redis.commands.core import AsyncScript, Script  # noqa: PLC0415  # a wrapper does not import its library

    frame: Any = sys._getframe()
    for _ in range(_DEEPEST):
        frame = frame.f_back
        if frame is None:
            return False
        if frame.f_code.co_name == "__call__" and isinstance(frame.f_locals.get("self"), (Script, AsyncScript)):
            return True
    return False


def _keep_secret(call: Any, args: Any) -> None:
    """Record no exception, whose message may quote the command, for one that may have a password."""
    telemetry = call._telemetry
    if telemetry is None or not commands.is_secret(args[1]):
        return
    call._telemetry = calls.WrapperTelemetry(
        telemetry.tracer,
        telemetry.kind,
        lambda error: telemetry.describe(error)._replace(recorded=False),
        has_meter=telemetry.has_meter,
    )


def make_factory(original: Any) -> Any:
    """Wrap what makes the stock wrappers of a client's methods: while ours is on, they only call what is below."""

    @functools.wraps(original)
    def factory(*args: Any, **kwargs: Any) -> Any:
        traced = original(*args, **kwargs)

        def traced_or_not(method: Any, client: Any, given: Any, options: Any) -> Any:
            return traced(method, client, given, options) if DATABASE.active is None else method(*given, **options)

        return traced_or_not

    return factory
