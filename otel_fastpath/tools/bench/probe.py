"""An operation that `bench` measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Probe:
    """One operation: a typical call of a library.

    The set-up is a generator function that yields the argument of the call. It imports the library after the leg's
    instrumentations have been loaded, and only if the library is installed.

    Attributes:
        name: The name shown in tables.
        use: The call, which receives what the set-up yielded.
        setup: The set-up; it receives the server's URL if `server` is set.
        needs: The modules that must be importable.
        only_telemetry: Whether the operation consists of telemetry only; its bare call is then empty.
        instrumentations: The entry points that hook this operation.
        server: The kind of server that the operation needs, a key of `options.SERVERS`; empty for none.
    """

    name: str
    use: Callable[[Any], Any]
    setup: Callable[..., Any]
    needs: tuple[str, ...] = ()
    only_telemetry: bool = False
    instrumentations: tuple[str, ...] = ()
    server: str = ""
