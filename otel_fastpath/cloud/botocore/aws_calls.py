"""One call of AWS: what stock's hook does before and after it. Plain Python; compiled as `aws_calls_c`.

Stock's extensions of services run as they are, but for DynamoDB's and SQS's. Only what does something is called.
"""

from __future__ import annotations

from contextvars import Token
from logging import DEBUG, Logger
from typing import Any

from botocore.exceptions import ClientError
from opentelemetry.instrumentation import botocore as _stock
from opentelemetry.instrumentation import utils
from opentelemetry.instrumentation.botocore.extensions.registry import ExtensionRegistry
from opentelemetry.instrumentation.botocore.extensions.types import (
    _AwsSdkCallContext,
    _AwsSdkExtension,
    _BotocoreInstrumentorContext,
)
from opentelemetry.trace import SpanKind
from opentelemetry.trace.status import StatusCode

from otel_fastpath.cloud.botocore.aws_extensions import (
    DYNAMODB,
    add_metadata,
    add_request,
    are_described,
    describe_answer,
    describe_request,
    endpoint,
    kind_of,
)
from otel_fastpath.cloud.botocore.stock_botocore import CALLS, INSTRUMENTORS
from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import new_instance
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import UNKNOWN
from otel_fastpath.trace.context.current_context import attach_flags, detach, restore
from otel_fastpath.trace.spans.recorded import is_silent, keeps_all

_BEGINNING = "the beginning of a call of AWS"
_END = "the end of a call of AWS"
_CLIENT = SpanKind.CLIENT
_ERROR = StatusCode.ERROR
# What wrapt gives a wrapper.
_GIVEN = 5
# What an extension does not do itself; `CALLS` says whether it is stock's.
_TRACING = _AwsSdkExtension.should_trace_service_call
_ENDING = _AwsSdkExtension.should_end_span_on_exit
_EXTRACTING = _AwsSdkExtension.extract_attributes
_BEFORE = _AwsSdkExtension.before_service_call
_SUCCESS = _AwsSdkExtension.on_success
_FAILURE = _AwsSdkExtension.on_error
_AFTER = _AwsSdkExtension.after_service_call
# Before 0.66, stock left the status to the span's scope.
_sets_status = hasattr(_stock, "http_status_to_status_code")
# What other code may replace in stock's module is looked up at each call.
_globals = vars(_stock)
_METHOD = _globals["RPC_METHOD"]
_REGION = _globals["CLOUD_REGION"]
_SERVICE = _globals["RPC_SERVICE"]
_SYSTEM = _globals["RPC_SYSTEM"]
_KINDS = tuple([vars(_stock).get(name) for name in INSTRUMENTORS])
# What stock's suppression sets; `CALLS` says whether it does.
_FLAGS = (vars(utils)["_SUPPRESS_HTTP_INSTRUMENTATION_KEY"],)
_facts = Facts(UNKNOWN)


def are_known() -> bool:
    """Whether what the hooks of stock call is stock's own; what that is has been looked at then."""
    return _facts.hold() or CALLS.holds_again(_facts)


def is_usual(instrumentor: Any) -> bool:
    """Whether it is stock's, without methods of its own, and what the hooks of stock call is stock's, too."""
    if type(instrumentor) not in _KINDS:
        return False
    own = instrumentor.__dict__
    return are_known() and "_call_request_hook" not in own and "_call_response_hook" not in own


class AwsCall:
    """One call of a client.

    Attributes:
        instrumentor: Stock's, which has the user's hooks.
        operation: What is called.
        params: Its arguments.
        result: What was answered; None at first.
        scope: Makes the span, and makes it current; None if the call is not traced.
        service: The name of the service.
    """

    __slots__ = (
        "_args",
        "_client",
        "_extension",
        "_is_described",
        "_kind",
        "_logger",
        "_metrics",
        "_registry",
        "_span",
        "_suppression",
        "instrumentor",
        "operation",
        "params",
        "result",
        "scope",
        "service",
    )
    _args: Any
    _client: Any
    _extension: Any
    _is_described: bool
    _kind: Any
    _logger: Any
    _metrics: Any
    _registry: Any
    _span: Any
    _suppression: Any
    instrumentor: Any
    operation: Any
    params: Any
    result: Any
    scope: Any
    service: Any

    def _prepare(self) -> bool:
        """Read what the client says of the call; False if stock must do it."""
        client, args = self._client, self._args
        if len(args) < 2:  # noqa: PLR2004  # the operation and its arguments
            return False
        operation, params = self.operation, self.params = args[0], args[1]
        meta = client.meta
        model = meta.service_model
        service = self.service = model.service_name.lower()
        region, url, _ = meta.region_name, meta.endpoint_url, model.api_version
        service_id = str(model.service_id)
        registry = self._registry = self.instrumentor.extension_registry
        if type(registry) is not ExtensionRegistry:
            return False
        extensions = registry._extensions
        kind = self._kind = kind_of(extensions.get(service))
        if kind is None:
            return False
        attributes = {_SYSTEM: "aws-api", _SERVICE: service_id, _METHOD: operation, _REGION: region}
        server, peer = endpoint(url)
        attributes.update(server)
        name, span_kind, is_ended = f"{service_id}.{operation}", _CLIENT, True
        is_plain = kind.should_trace_service_call is _TRACING and kind.should_end_span_on_exit is _ENDING
        self._is_described = is_plain and are_described(kind)
        if self._is_described and not describe_request(kind, operation, params, peer, attributes):
            return False
        self._say("AWS SDK invocation: %s %s")
        is_plain = is_plain and kind is _AwsSdkExtension and kind.extract_attributes is _EXTRACTING
        if not self._is_described and not is_plain:
            extension = self._made_extension()
            context = extension._call_context
            if kind.should_trace_service_call is not _TRACING and not extension.should_trace_service_call():
                self.scope = None
                return True
            if kind.extract_attributes is not _EXTRACTING:
                _globals["_safe_invoke"](extension.extract_attributes, attributes)
            if kind.should_end_span_on_exit is not _ENDING:
                is_ended = extension.should_end_span_on_exit()
            name, span_kind = context.span_name, context.span_kind
        package = registry._package_name
        tracer = self._tracer(f"{package}.{service}" if service in extensions else package)
        more = {"set_status_on_exception": False} if _sets_status else {}
        self.scope = tracer.start_as_current_span(
            name, kind=span_kind, attributes=attributes, end_on_exit=is_ended, **more
        )
        return True

    def _tracer(self, name: str) -> Any:
        """The tracer of this instrumentation's name, with what else stock makes once for each name."""
        registry = self._registry
        tracer = registry._tracers.get(name)
        self._metrics, self._logger = registry._metrics.get(name), registry._loggers.get(name)
        if tracer is None or self._metrics is None or self._logger is None:
            extension = self._made_extension()
            tracer = registry.get_tracer(extension)
            self._metrics = registry.get_metrics(extension)
            self._logger = registry.get_logger(extension)
        return tracer

    def _say(self, message: str) -> None:
        """Log the call, unless it is known that nobody listens."""
        logger = _globals["logger"]
        # What CPython keeps of the answers of `isEnabledFor`.
        is_known = type(logger) is Logger and not logger.disabled
        if not is_known or logger._cache.get(DEBUG) is not False:
            logger.debug(message, self.service, self.operation)

    def _made_extension(self) -> Any:
        """Stock's extension for the call."""
        if self._extension is None:
            self._extension = self._kind(_AwsSdkCallContext(self._client, self._args))
        return self._extension

    def before(self, span: Any) -> None:
        """Let the extension do what it does before the call."""
        self._span = span
        kind = self._kind
        try:
            if kind.before_service_call is _BEFORE:
                return
            is_kept = keeps_all(span)
            if self._is_described and (is_kept or is_silent(span)):
                found: dict[str, Any] = {}
                if not is_kept or add_request(self.operation, self.params, found):
                    if found:
                        span.set_attributes(found)
                    return
        except Exception as error:
            _report(_BEGINNING, error)
        self._invoke("before_service_call", (span,))

    def suppress(self) -> None:
        """Suppress the spans of the HTTP client."""
        try:
            self._suppression = attach_flags(_FLAGS)
            if self._suppression is None:
                manager = CALLS.suppress_http_instrumentation()
                manager.__enter__()
                self._suppression = manager
        except Exception as error:
            _report(_BEGINNING, error)

    def release(self) -> None:
        """Suppress them no more."""
        suppression, self._suppression = self._suppression, None
        try:
            if type(suppression) is Token:
                detach(suppression)
            elif suppression is not None:
                suppression.__exit__(None, None, None)
        except Exception as error:
            faults.absorb(_END, error)
            restore(suppression)

    def succeed(self, result: Any) -> None:
        """Describe the answer."""
        self.result = result
        span, kind = self._span, self._kind
        is_described = is_whole = False
        try:
            is_kept = keeps_all(span)
            if type(result) is dict and (is_kept or is_silent(span)):
                found: dict[str, Any] = {}
                is_described = not is_kept or add_metadata(result, found)
                is_whole = kind.on_success is _SUCCESS or (not is_kept and self._is_described and kind is DYNAMODB)
                if is_described and not is_whole and self._is_described:
                    is_described = is_whole = describe_answer(kind, self.operation, result, found)
                if is_described and is_kept and found:
                    span.set_attributes(found)
        except Exception as error:
            is_described = is_whole = False
            _report(_END, error)
        if not is_described:
            _stock_apply = _globals["_apply_response_attributes"]
            _stock_apply(span, result)
        if not is_whole and kind.on_success is not _SUCCESS:
            self._invoke("on_success", (span, result))

    def fail(self, error: Exception) -> None:
        """Describe the error."""
        span, kind, is_odd = self._span, self._kind, False
        own = error.__dict__
        # Also after a fault, the user's hook is given it.
        self.result = own["response"] if isinstance(error, ClientError) and "response" in own else None
        try:
            if isinstance(error, ClientError):
                result = self.result = getattr(error, "response", None)
                _globals["_apply_response_attributes"](span, result)
                is_error = True
                if _sets_status:
                    is_odd = type(result) is not dict or type(result.get("ResponseMetadata")) is not dict
                    status = (result or {}).get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
                    is_error = _globals["http_status_to_status_code"](status) is _ERROR
                    if is_error:
                        span.set_status(_ERROR, str(error))
                if is_error and kind.on_error is not _FAILURE:
                    self._invoke("on_error", (span, error))
                elif not is_error and kind.on_success is not _SUCCESS:
                    self._invoke("on_success", (span, result))
            elif _sets_status:
                span.set_status(_ERROR, str(error))
        except Exception as fault:
            if is_odd:
                # What stock's raises then, too.
                faults.blame_others(fault)
            faults.absorb(_END, fault)

    def leave(self) -> None:
        """Let the extension do what it does after the call."""
        if self._kind.after_service_call is not _AFTER:
            self._invoke("after_service_call", ())

    def _invoke(self, name: str, args: tuple[Any, ...]) -> None:
        """Call a method of the extension, as stock does."""
        try:
            extension = self._made_extension()
            function = getattr(extension, name)
            given = _BotocoreInstrumentorContext(logger=self._logger, metrics=self._metrics)
        except Exception as error:
            faults.absorb(_END, error)
            return
        _stock_invoke = _globals["_safe_invoke"]
        _stock_invoke(function, *args, given)
        context = extension._call_context
        self.service, self.operation, self.params = context.service, context.operation, context.params


def begin(given: tuple[Any, ...], named: dict[str, Any]) -> AwsCall | None:
    """The call of what wrapt gives stock's hook: itself, what it wraps, the client, and the arguments.

    None if stock must do it; without a scope if it is not traced.
    """
    try:
        if named or len(given) != _GIVEN or not is_usual(given[0]):
            return None
        call = new_instance(AwsCall)
        call.instrumentor, call._client, call._args = given[0], given[2], given[3]
        call._extension = call._suppression = call.result = call.scope = None
        if CALLS.is_instrumentation_enabled() and not call._prepare():
            return None
    except Exception as error:
        _report(_BEGINNING, error)
        return None
    return call


def _report(place: str, error: Exception) -> None:
    """In an `except` clause before stock's own code does it: that meets other errors than ours itself."""
    faults.raise_interruption(error)
    if faults.ours(error):
        faults.report(place, error)
