"""Plans of objects that delegate to a tracer, such as `wrapt` proxies, and call the tracer's `start_span` themselves.

Stock's method reads the parts of the tracer from such an object, which may have some of its own, for example an id
generator. Setting an attribute of the tracer below is not noticed here, so the parts are compared for each span.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class DelegatingPlans:
    """The plans of objects that delegate to tracers, by their id: such an object may compare equal to its tracer.

    Args:
        make: Makes the plan of such an object.
        holds: Whether a plan still has the parts that the object shows.
    """

    def __init__(self, make: Callable[[Any], Any], holds: Callable[[Any, Any], bool]) -> None:
        self._make = make
        self._holds = holds
        self._plans: dict[int, tuple[weakref.ref[Any], Any]] = {}

    def find(self, tracer: Any) -> Any:
        """The plan of this object, made anew if it does not hold any more.

        Raises:
            TypeError: The object cannot have weak references.
        """
        reference, plan = self._plans.get(id(tracer), (None, None))
        if reference is None or reference() is not tracer or not self._holds(plan, tracer):
            key = id(tracer)
            reference = weakref.ref(tracer, lambda _: self._plans.pop(key, None))
            plan = self._make(tracer)
            self._plans[key] = (reference, plan)
        return plan

    def forget(self) -> None:
        """Forget all plans."""
        self._plans.clear()
