"""What replaces `request` of the client."""

from __future__ import annotations

import contextlib
import functools
import inspect

from opentelemetry.instrumentation.utils import suppress_instrumentation


def instrument_llm_provider(logfire, client, suppress_otel, scope_suffix):
    """Instrument a client, a class, or several of them."""
    if isinstance(client, tuple):
        made = [instrument_llm_provider(logfire, each, suppress_otel, scope_suffix) for each in client]

        @contextlib.contextmanager
        def uninstrument_all():
            with contextlib.ExitStack() as stack:
                for each in made:
                    stack.enter_context(each)
                yield

        return uninstrument_all()
    if getattr(client, "_is_instrumented_by_logfire", False):
        return contextlib.nullcontext()
    client._is_instrumented_by_logfire = True
    client._original_request_method = original = client.request
    suppressed = suppress_instrumentation if suppress_otel else contextlib.nullcontext

    @functools.wraps(original)
    def request(*args, **kwargs):
        with logfire.start_as_current_span("Chat Completion"), suppressed():
            return original(*args, **kwargs)

    @functools.wraps(original)
    async def request_async(*args, **kwargs):
        with logfire.start_as_current_span("Chat Completion"), suppressed():
            return await original(*args, **kwargs)

    client.request = request_async if inspect.iscoroutinefunction(original) else request

    @contextlib.contextmanager
    def uninstrument():
        try:
            yield
        finally:
            client.request = client._original_request_method
            del client._original_request_method
            client._is_instrumented_by_logfire = False

    return uninstrument()
