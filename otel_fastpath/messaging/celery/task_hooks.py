"""The hooks around a task that is sent and one that runs. Plain Python; compiled as `task_hooks_c`.

Each does what stock's does, in the same order, through the API, the instruments and the task's own dict of open spans.
The functions of stock in between are not called, the attributes are set in one go, and the registry of the tasks is
read without Celery's proxies.
"""

from __future__ import annotations

from logging import DEBUG, Logger
from typing import TYPE_CHECKING, Any

from celery._state import get_current_app
from celery.app.base import Celery
from celery.app.task import Context
from opentelemetry.instrumentation import celery as _stock
from opentelemetry.instrumentation.celery import CeleryInstrumentor
from opentelemetry.instrumentation.celery import utils as _utils
from opentelemetry.semconv._incubating.attributes.messaging_attributes import MESSAGING_MESSAGE_ID as _ID
from opentelemetry.trace import SpanKind

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.messaging.celery.stock_celery import HOOKED
from otel_fastpath.messaging.celery.task_attributes import add_attributes
from otel_fastpath.messaging.message_headers import write_mapped
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import UNKNOWN
from otel_fastpath.trace.context.context_functions import attach_known
from otel_fastpath.trace.context.current_context import detach, restore
from otel_fastpath.trace.propagation.composite import _read
from otel_fastpath.trace.propagation.global_propagator import w3c_reader
from otel_fastpath.trace.spans.recorded import keeps_all

if TYPE_CHECKING:
    from collections.abc import Callable

_CONSUMER = SpanKind.CONSUMER
_PRODUCER = SpanKind.PRODUCER
_ACTION = _stock._TASK_TAG_KEY
_NAME = _stock._TASK_NAME_KEY
_RUN = _stock._TASK_RUN
_APPLY = _stock._TASK_APPLY_ASYNC
_SPANS = _utils.CTX_KEY
_PRERUN = "the start of a task"
_POSTRUN = "the end of a task"
_PUBLISH = "sending a task"
_PARENT = "traceparent"
_DURATION = "flower.task.runtime.seconds"
# What other code may replace in stock's modules is looked up at each call.
_globals = vars(_stock)
_utils_globals = vars(_utils)
_hooks = Facts(UNKNOWN)


def bind_prerun(original: Callable[..., None]) -> Callable[..., None]:
    """Make the replacement for `CeleryInstrumentor._trace_prerun`."""

    def prerun(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        task: Any = None
        task_id = token = span = activation = None
        try:
            self = args[0]
            if _is_usual(self):
                task_id = kwargs.get("task_id")
                task = kwargs.get("task")
            if task is not None and task_id is not None:
                _note_time(self, task_id)
                context = _remote_context(task.request)
                _say("prerun signal start task_id=%s", task_id)
                name = f"{_RUN}/{task.name}"
                if self._use_span_links and context is not None:
                    span = self._tracer.start_span(name, links=_links(context), kind=_CONSUMER)
                else:
                    if context is not None:
                        token = attach_known(context) or _globals["context_api"].attach(context)
                    span = self._tracer.start_span(name, context=context, kind=_CONSUMER)
                scope = _globals["trace"].use_span(span, end_on_exit=True)
                scope.__enter__()
                activation = scope
                _keep(task, (task_id, False), (span, activation, token))
                return
        except Exception as error:
            faults.absorb(_PRERUN, error)
            _give_up(activation, token)
            if span is not None:
                return
            if task_id is not None:
                self.task_id_to_start_time.pop(task_id, None)
        original(*args, **kwargs)

    return prerun


def bind_postrun(original: Callable[..., None]) -> Callable[..., None]:
    """Make the replacement for `CeleryInstrumentor._trace_postrun`."""

    def postrun(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        task: Any = None
        kept = None
        is_left = False
        try:
            self = args[0]
            if _is_usual(self):
                task = kwargs.get("task")
                task_id = kwargs.get("task_id")
                kept = _kept(task, (task_id, False))
            if kept is not None:
                _say("postrun signal task_id=%s", task_id)
                span, activation, token = kept
                request = task.request
                if span.is_recording():
                    _describe_run(span, task, request, kwargs)
                is_left = True
                activation.__exit__(None, None, None)
                getattr(task, _SPANS).pop((task_id, False), None)
                _note_time(self, task_id)
                _record(self, task_id, {"task": task.name, "worker": request.hostname})
                if token is not None:
                    detach(token)
                return
        except Exception as error:
            faults.absorb(_POSTRUN, error)
            if is_left:
                _give_up(activation, token)
                return
        original(*args, **kwargs)

    return postrun


def bind_before_publish(original: Callable[..., None]) -> Callable[..., None]:
    """Make the replacement for `CeleryInstrumentor._trace_before_publish`."""

    def before_publish(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        task_id = span = activation = None
        try:
            self = args[0]
            if _is_usual(self):
                task_id = _task_id(kwargs)
            if task_id is not None:
                task = _registered(kwargs)
                name = kwargs["sender"] if task is None else task.name
                span = self._tracer.start_span(f"{_APPLY}/{name}", kind=_PRODUCER)
                if span.is_recording():
                    _describe_sent(span, name, task_id, kwargs)
                # It is left when nobody has it any more, as stock's: of a task that is not known here, at the end.
                scope = _globals["trace"].use_span(span, end_on_exit=True)
                scope.__enter__()
                activation = scope
                if task is not None:
                    _keep(task, (task_id, True), (span, activation, None))
                _inject(kwargs["headers"])
                return
        except Exception as error:
            faults.absorb(_PUBLISH, error)
            _give_up(activation, None)
            if span is not None:
                return
        original(*args, **kwargs)

    return before_publish


def bind_after_publish(original: Callable[..., None]) -> Callable[..., None]:
    """Make the replacement for `CeleryInstrumentor._trace_after_publish`."""

    def after_publish(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        kept = None
        try:
            if are_known():
                task_id = _task_id(kwargs)
                if task_id is not None:
                    task = _registered(kwargs)
                    if task is None:
                        return
                    kept = _kept(task, (task_id, True))
            if kept is not None:
                kept[1].__exit__(None, None, None)
                getattr(task, _SPANS).pop((task_id, True), None)
                return
        except Exception as error:
            # A span that has ended is not ended again.
            faults.absorb(_PUBLISH, error)
        original(*args, **kwargs)

    return after_publish


def are_known() -> bool:
    """Whether what the hooks of stock call is stock's own; what that is has been looked at then."""
    return _hooks.hold() or HOOKED.holds_again(_hooks)


def _is_usual(instrumentor: Any) -> bool:
    """Whether it is stock's, without methods of its own, and what the hooks of stock call is stock's, too."""
    if type(instrumentor) is not CeleryInstrumentor:
        return False
    own = instrumentor.__dict__
    return are_known() and "update_task_duration_time" not in own and "_record_histograms" not in own


def _task_id(kwargs: dict[str, Any]) -> Any:
    """The id of a task in the headers of its message; None if stock must look for it."""
    headers = kwargs.get("headers")
    if type(headers) is dict and headers and type(kwargs.get("sender")) is str:
        return headers.get("id")
    return None


def _registered(kwargs: dict[str, Any]) -> Any:
    """The task that is sent, as it is registered with the current application, or None."""
    app = get_current_app()
    tasks = app.__dict__.get("tasks") if type(app) is Celery else None
    if tasks is None:
        tasks = app.tasks
    task = tasks.get(kwargs["sender"])
    if task is None:
        # As stock's, which has lost the name by then.
        _utils_globals["logger"].debug("Unable to retrieve the task from sender=%s", None)
    return task


def _note_time(self: Any, task_id: Any) -> None:
    """Keep when a task began or, if that is kept, how long it took."""
    times = self.task_id_to_start_time
    now = _globals["default_timer"]()
    times[task_id] = now - times[task_id] if task_id in times else now


def _record(self: Any, task_id: Any, attributes: dict[str, Any]) -> None:
    """Record how long a task took, and forget it."""
    times = self.task_id_to_start_time
    self.metrics[_DURATION].record(times.get(task_id), attributes=attributes)
    times.pop(task_id, None)


def _kept(task: Any, key: tuple[Any, bool]) -> Any:
    """What is kept of the open span of a task: span, activation and token; None if nothing is."""
    spans = None if task is None else getattr(task, _SPANS, None)
    return None if spans is None else spans.get(key)


def _say(message: str, task_id: Any) -> None:
    """Log it, unless it is known that nobody listens."""
    logger = _globals["logger"]
    # What CPython keeps of the answers of `isEnabledFor`.
    is_known = type(logger) is Logger and not logger.disabled
    if not is_known or logger._cache.get(DEBUG) is not False:
        logger.debug(message, task_id)


def _keep(task: Any, key: tuple[Any, bool], opened: tuple[Any, Any, Any]) -> None:
    spans = getattr(task, _SPANS, None)
    if spans is None:
        spans = {}
        setattr(task, _SPANS, spans)
    spans[key] = opened


def _give_up(activation: Any, token: Any) -> None:
    """After a fault, leave the context as it was."""
    if activation is not None:
        activation.__exit__(None, None, None)
    if token is not None:
        restore(token)


def _remote_context(request: Any) -> Any:
    """The context that the propagators read from a request, or None."""
    propagator = w3c_reader() if type(request) is Context else None
    if propagator is not None and getattr(request, "baggage", None) is None:
        parent = getattr(request, "traceparent", None)
        state = getattr(request, "tracestate", None)
        if parent is None or (type(parent) is str and state is None):
            found = _read({} if parent is None else {_PARENT: parent}, None)
            if found is not None:
                return found or None
    return _globals["extract"](request, getter=_globals["celery_getter"]) or None


def _links(context: Any) -> Any:
    """The link to the span in this context, if it is valid."""
    trace = _globals["trace"]
    parent = trace.get_current_span(context).get_span_context()
    return [trace.Link(parent)] if parent.is_valid else None


def _inject(headers: dict[str, Any]) -> None:
    """Write the headers of the current context."""
    if not write_mapped(headers):
        _globals["inject"](headers)


def _describe_sent(span: Any, name: Any, task_id: Any, kwargs: dict[str, Any]) -> None:
    """Set the attributes of a task that is sent."""
    found = {_ACTION: _APPLY, _ID: task_id, _NAME: name}
    if keeps_all(span) and add_attributes(found, kwargs):
        span.set_attributes(found)
        return
    span.set_attribute(_ACTION, _APPLY)
    span.set_attribute(_ID, task_id)
    span.set_attribute(_NAME, name)
    _utils_globals["set_attributes_from_context"](span, kwargs)


def _describe_run(span: Any, task: Any, request: Any, kwargs: dict[str, Any]) -> None:
    """Set the attributes of a task that has run."""
    found = {_ACTION: _RUN}
    # What the class of requests has is not set, as `HOOKED` has seen.
    is_plain = keeps_all(span) and type(request) is Context
    if is_plain and add_attributes(found, kwargs) and add_attributes(found, request.__dict__):
        found[_NAME] = task.name
        span.set_attributes(found)
        return
    span.set_attribute(_ACTION, _RUN)
    _utils_globals["set_attributes_from_context"](span, kwargs)
    _utils_globals["set_attributes_from_context"](span, request)
    span.set_attribute(_NAME, task.name)
