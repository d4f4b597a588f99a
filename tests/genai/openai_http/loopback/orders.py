"""What a test orders from the server, in a header of its request: `x-loopback: chunks=3;cut=2`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

HEADER = "x-loopback"


@dataclass(frozen=True)
class Orders:
    """How to answer.

    Attributes:
        status: Refuse with this status.
        times: Refuse so many attempts of the client's, then answer; -1: all of them.
        chunks: Content chunks of a stream; -1: as many as the reply has words.
        cut: Close the connection after so many events, in the middle of the body.
        error: Send an error event after so many events.
        hold: After so many events send nothing more, until the client is gone.
        slow: Let the other side run between two events: each is a write of its own, however fast.
        no_index: This event's choices have no index.
        null_choices: This event's choices are null.
        no_json: This event is no JSON.
        failed: A Responses stream ends in `response.failed`.
        incomplete: A Responses stream ends in `response.incomplete`.
        cached: Cached, cache-writing and reasoning tokens are in the usage.
        tools: The reply calls the tool that was offered.
        floats: Numbers of an embedding.
    """

    status: int = 0
    times: int = -1
    chunks: int = -1
    cut: int = -1
    error: int = -1
    hold: int = -1
    slow: int = 0
    no_index: int = -1
    null_choices: int = -1
    no_json: int = -1
    failed: int = 0
    incomplete: int = 0
    cached: int = 0
    tools: int = 0
    floats: int = 64


_NAMES = {field.name for field in fields(Orders)}


def ordered(**values: int) -> dict[str, str]:
    """The header of a request with these orders, for `extra_headers`."""
    assert values.keys() <= _NAMES
    return {HEADER: ";".join(f"{name}={value}" for name, value in values.items())}


def read(headers: Mapping[str, str]) -> Orders:
    """The orders in a request."""
    pairs = (pair.partition("=") for pair in headers.get(HEADER, "").split(";") if pair)
    return Orders(**{name: int(value) for name, _, value in pairs})
