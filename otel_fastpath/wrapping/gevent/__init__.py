"""The context in greenlets: gevent starts each of them with an empty one, so that its spans are in other traces.

On request, a greenlet begins in the OpenTelemetry context of the code that spawns it: the setting
`OTEL_FASTPATH_GEVENT=on` does this for all of them, and `with_context` for one function. Other context variables stay
as gevent has them.
"""

from __future__ import annotations

from typing import Final

from otel_fastpath.wrapping.gevent.carrying import with_context
from otel_fastpath.wrapping.gevent.patches import PATCHES
from otel_fastpath.wrapping.library import Library

__all__ = ["LIBRARY", "with_context"]

LIBRARY: Final = Library(
    name="gevent",
    why="Greenlets begin in the context of the code that spawns them.",
    patches=PATCHES,
    configure=lambda _setup: None,
    is_on_request=True,
)
