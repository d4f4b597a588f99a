"""What the interceptors of `opentelemetry-instrumentation-grpc` call, for each call of clients and servers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.patching.patch import Patch
from otel_fastpath.patching.sources.guard import ReplacedError
from otel_fastpath.patching.sources.known import Known
from otel_fastpath.patching.sources.origin import origin
from otel_fastpath.trace.propagation.stock_propagators import sources_in
from otel_fastpath.trace.stock_sources import API

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config

# Written by tests/others/library_fingerprints.py.
KNOWN: Final = Known(Path(__file__).with_name("sources.json"))
MODULE: Final = "opentelemetry.instrumentation.grpc"
_INJECT: Final = "opentelemetry.propagate:inject"
_WRAP: Final = f"{MODULE}._server:_wrap_rpc_behavior"
_SETTER: Final = f"{MODULE}._client:_CarrierSetter.set"
# What a replacement rests on besides, by its name.
_FURTHER: Final = {
    "_intercept": (
        f"{MODULE}._client:OpenTelemetryClientInterceptor._trace_result",
        f"{MODULE}._client:_make_future_done_callback",
        f"{MODULE}._utilities:RpcInfo.__init__",
    ),
    "propagate_trace_in_details": (_SETTER,),
}
_KINDS: Final = ("unary to unary", "unary to stream")


def _budgets(*hosts: str) -> tuple[str, ...]:
    return tuple(f"grpc {host}, {kind}" for host in hosts for kind in _KINDS)


def _make(name: str) -> Callable[[Any, Config], Any]:
    module, _, function = name.partition(":")

    def make(original: Any, _settings: Config) -> Any:
        bind = getattr(getattr(hot, f"rpc_grpc_{module}"), function)
        if not isinstance(original, staticmethod):
            return bind(original)
        # A wrapper object of wrapt's shows what it wraps as its own.
        if type(original) is not staticmethod:
            raise ReplacedError(f"{name} is wrapped already, by {origin(original)}")
        return staticmethod(bind(original.__func__))

    return make


def _sources(target: str) -> dict[str, frozenset[str]]:
    """The fingerprints of what is in this place, which a module may have imported."""
    module, _, name = target.partition(":")
    if name == "inject":
        return sources_in(module, _INJECT) | KNOWN.sources(_SETTER)
    if name == "_wrap_rpc_behavior":
        return {target: KNOWN.sources(_WRAP)[_WRAP]}
    return KNOWN.sources(target, *_FURTHER.get(name.rpartition(".")[2], ()))


def _patch(name: str, target: str, why: str, bind: str, *budgets: str) -> Patch:
    target = f"{MODULE}.{target}"
    return Patch(
        name=f"grpc.{name}",
        target=target,
        why=why,
        make=_make(bind),
        requires=(*API, "opentelemetry-instrumentation-grpc>=0.61b0"),
        sources=_sources(target),
        decorators=frozenset({"contextlib"}),
        budgets=_budgets(*budgets),
    )


_CLIENTS: Final = ("client", "client, asyncio")
_SERVERS: Final = ("server", "server, asyncio")
_WRAPPING: Final = "Imports a module and calls three functions to make a handler; here it is made at once."
PATCHES: Final = (
    _patch(
        "client_span",
        "_client:OpenTelemetryClientInterceptor._start_span",
        "Asks an enumeration for a number at each call, and hands arguments on by name.",
        "sent_calls:bind_start_span",
        *_CLIENTS,
    ),
    _patch(
        "client_call",
        "_client:OpenTelemetryClientInterceptor._intercept",
        "Makes an object with six fields that nobody reads, and an ordered dict.",
        "sent_calls:bind_intercept",
        "client",
    ),
    _patch(
        "client_inject",
        "_client:inject",
        "Writing one header calls two propagators and the setter, five functions; here it is written at once.",
        "sent_calls:bind_inject",
        "client",
    ),
    _patch(
        "aio_client_details",
        "_aio_client:_BaseAioClientInterceptor.propagate_trace_in_details",
        "Adds each entry of the metadata to a new one by two functions: 14,000 instructions; here it is copied.",
        "sent_calls:bind_propagate_trace",
        "client, asyncio",
    ),
    _patch(
        "server_context",
        "_server:OpenTelemetryServerInterceptor._set_remote_context",
        "A generator around each request, and two propagators; here one class, and one header is read.",
        "served_calls:bind_set_remote_context",
        *_SERVERS,
    ),
    _patch(
        "server_span",
        "_server:OpenTelemetryServerInterceptor._start_span",
        "Asks for the client's address three times, and fails where it has no port.",
        "served_calls:bind_start_span",
        *_SERVERS,
    ),
    _patch("server_handler", "_server:_wrap_rpc_behavior", _WRAPPING, "served_calls:bind_wrap_behavior", "server"),
    _patch(
        "aio_server_handler",
        "_aio_server:_wrap_rpc_behavior",
        _WRAPPING,
        "served_calls:bind_wrap_behavior",
        "server, asyncio",
    ),
)
