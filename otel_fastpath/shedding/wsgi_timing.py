"""A request of WSGI that is timed: without the application, its body, and the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_fastpath.shedding.watches import TimeWatch, running_watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def standing_in_application(application: Callable[..., Any]) -> Callable[..., Any]:
    """A WSGI application, made for a hook that calls it: the watch stands in it, and runs in its `start_response`."""

    def standing(environ: Any, start_response: Any) -> Any:
        watch = running_watch()
        if watch is None:
            return application(environ, start_response)

        def respond(*args: Any, **kwargs: Any) -> Any:
            return watch.call(start_response, args, kwargs, on=True)

        chunks = watch.call(application, (environ, respond), {}, on=False)
        # Most are lists, of which nothing takes time.
        return chunks if type(chunks) is list else _Standing(chunks, watch)

    return standing


def standing_in_server(start_response: Callable[..., Any], watch: TimeWatch) -> Callable[..., Any]:
    """The server's function: the watch stands in it."""
    return lambda *args, **kwargs: watch.call(start_response, args, kwargs, on=False)


class _Standing:
    """The body that the application returned."""

    def __init__(self, chunks: Any, watch: TimeWatch) -> None:
        self._chunks, self._watch = chunks, watch

    def __iter__(self) -> Iterator[Any]:
        chunks: Any = self._watch.call(iter, (self._chunks,), {}, on=False)
        while True:
            try:
                chunk = self._watch.call(next, (chunks,), {}, on=False)
            except StopIteration:
                return
            yield chunk

    def close(self) -> None:
        close = getattr(self._chunks, "close", None)
        if close is not None:
            self._watch.call(close, (), {}, on=False)


class TimedBody:
    """The body that telemetry's code returned to the server."""

    def __init__(self, chunks: Any, watch: TimeWatch, ended: Callable[[], object]) -> None:
        self._chunks, self._watch, self._ended = chunks, watch, ended
        self._iterator: Any = None
        self._is_ended = False

    def __iter__(self) -> TimedBody:
        """The body itself, which is read once."""
        return self

    def __next__(self) -> Any:
        """The next chunk."""
        if self._iterator is None:
            self._iterator = self._watch.call(iter, (self._chunks,), {}, on=True)
        return self._watch.call(next, (self._iterator,), {}, on=True)

    def close(self) -> None:
        """Close the body, as servers do at the end of a request."""
        try:
            close = getattr(self._chunks, "close", None)
            if close is not None:
                self._watch.call(close, (), {}, on=True)
        finally:
            if not self._is_ended:
                self._is_ended = True
                self._ended()
