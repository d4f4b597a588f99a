"""FastAPI's own spans of the parts of a request (dependencies, endpoint, serialization): not made while they are shed.

A sampler cannot drop them: they have children, which would be dropped with them. Without them, these are children of
the span of the request.
"""

from __future__ import annotations

import functools
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.patching.swapping.swap import Swap

if TYPE_CHECKING:
    from otel_fastpath.shedding.shed import Shed

_MODULE: Final = "fastapi.telemetry._api"
_NAME: Final = "_traced_operation"


class Operations:
    """Replaces the function that makes these spans, while they are shed."""

    def __init__(self, shed: Shed) -> None:
        self._shed = shed
        self._swap: Swap | None = None

    def follow(self, *, is_shed: bool) -> None:
        """Replace the function, or put it back."""
        if not is_shed:
            if self._swap is not None:
                self._swap.take_off()
                self._swap = None
            return
        owner = sys.modules.get(_MODULE)
        if self._swap is None and owner is not None and hasattr(owner, _NAME):
            swap = Swap(owner, _NAME)
            swap.put(_without_span(swap.original, self._shed))
            self._swap = swap


def _without_span(original: Any, shed: Shed) -> Any:
    nothing = nullcontext()

    @functools.wraps(original)
    def _traced_operation(*_args: Any, **_kwargs: Any) -> Any:
        shed.count("internal_span")
        return nothing

    return _traced_operation
