"""What stands around a call of botocore or aiobotocore, in the place of stock's hooks. Compiled as `aws_hooks_c`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_fastpath.cloud.botocore.aws_calls import begin
from otel_fastpath.cloud.botocore.aws_headers import header_of, put_header

if TYPE_CHECKING:
    from collections.abc import Callable


def bind_api_call(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for `BotocoreInstrumentor._patched_api_call`."""

    def api_call(*args: Any, **kwargs: Any) -> Any:
        call = begin(args, kwargs)
        if call is None:
            return original(*args, **kwargs)
        _, wrapped, _, given, named = args
        if call.scope is None:
            return wrapped(*given, **named)
        scope_of_host = call.scope
        with scope_of_host as span:
            call.before(span)
            request_hook = call.instrumentor.request_hook
            if callable(request_hook):
                request_hook(span, call.service, call.operation, call.params)
            try:
                call.suppress()
                try:
                    result = wrapped(*given, **named)
                except Exception as error:
                    call.fail(error)
                    raise
                else:
                    call.succeed(result)
                finally:
                    call.release()
            finally:
                call.leave()
                response_hook = call.instrumentor.response_hook
                if callable(response_hook):
                    response_hook(span, call.service, call.operation, call.result)
            return result

    return api_call


def bind_async_api_call(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for `AiobotocoreInstrumentor._patched_api_call`."""

    async def api_call(*args: Any, **kwargs: Any) -> Any:
        call = begin(args, kwargs)
        if call is None:
            return await original(*args, **kwargs)
        _, wrapped, _, given, named = args
        if call.scope is None:
            return await wrapped(*given, **named)
        scope_of_host = call.scope
        with scope_of_host as span:
            call.before(span)
            request_hook = call.instrumentor.request_hook
            if callable(request_hook):
                request_hook(span, call.service, call.operation, call.params)
            try:
                call.suppress()
                try:
                    result = await wrapped(*given, **named)
                except Exception as error:
                    call.fail(error)
                    raise
                else:
                    call.succeed(result)
                finally:
                    call.release()
            finally:
                call.leave()
                response_hook = call.instrumentor.response_hook
                if callable(response_hook):
                    response_hook(span, call.service, call.operation, call.result)
            return result

    return api_call


def bind_prepare_request(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for `_patched_endpoint_prepare_request` of the two instrumentors."""

    def prepare_request(*args: Any, **kwargs: Any) -> Any:
        header = header_of(args, kwargs)
        if header is None:
            return original(*args, **kwargs)
        _, wrapped, _, given, named = args
        prepared = wrapped(*given, **named)
        if header:
            put_header(prepared, header)
        return prepared

    return prepare_request
