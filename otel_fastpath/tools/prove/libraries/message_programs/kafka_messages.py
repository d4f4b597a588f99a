"""What programs of Kafka's clients send and receive; no broker is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from unittest import mock

from opentelemetry import baggage, trace

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence
    from contextlib import ExitStack

    from otel_fastpath.tools.prove.program import ProgramRun

_PARENT: Final = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TOPICS: Final = ("orders", "orders", "parcels", "", "\u00e4")
KEYS: Final[tuple[Any, ...]] = (None, b"order-1", b"\xff\x00", "text", 17)
SERVERS: Final[tuple[Any, ...]] = ("broker:9092", ["broker:9092", 'b"\u00e4:9092'])
_PAIRS: Final[tuple[tuple[str, bytes | None], ...]] = (
    ("traceparent", _PARENT),
    ("traceparent", _PARENT.replace(b"-01", b"-00")),
    ("traceparent", b"00-0"),
    ("traceparent", None),
    ("tracestate", b"a=1,b=2"),
    ("baggage", b"user=ann"),
    ("x-tenant", b"shop"),
)


def headers(draw: random.Random) -> list[tuple[str, bytes | None]]:
    """Headers of a message."""
    return draw.choices(_PAIRS, k=draw.randrange(4))


def keep(run: ProgramRun, sent: Sequence[tuple[str, bytes | None]] | None) -> None:
    """Keep what a message has been sent with, and show the context in which it was."""
    run.carried.append([(name, value and value.decode()) for name, value in sent or ()])
    trace.get_current_span().set_attribute("baggage", str(dict(baggage.get_all())))


def a_client(kind: Any, **fields: Any) -> Any:
    """A client of this class that was never connected."""
    made = kind.__new__(kind)
    vars(made).update(fields)
    return made


def replace_methods(entered: ExitStack, kind: Any, **methods: Any) -> None:
    """Replace methods of a client, which are instrumented then."""
    # Clients that were never started have nothing to say when they are collected.
    for name, method in {**methods, "__del__": lambda _client: None}.items():
        entered.enter_context(mock.patch.object(kind, name, method, create=True))
