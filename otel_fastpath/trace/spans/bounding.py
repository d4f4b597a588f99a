"""Stock's containers around values that need no cleaning, made without their constructors. Compiled as `bounding_c`.

Stock's `BoundedAttributes` cleans each value and stores it on its own; its `BoundedList` is made of two copies.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from opentelemetry import attributes as _attributes_api
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk import util as _sdk_util
from opentelemetry.sdk.util import BoundedList

from otel_fastpath.compiled.helpers import new_instance

if TYPE_CHECKING:
    from typing import Any

_attributes_globals = vars(_attributes_api)
_list_globals = vars(_sdk_util)


def bounded_attributes(
    store: dict[str, Any], most: int | None, longest: int | None, immutable: bool
) -> BoundedAttributes:
    """Stock's container around this very dict, whose values are clean and no more than fit."""
    made: BoundedAttributes = new_instance(BoundedAttributes)
    made._dict = store
    made.maxlen = most
    made.dropped = 0
    made.max_value_len = longest
    made._lock = _attributes_globals["threading"].Lock()
    made._immutable = immutable
    return made


def bounded_list(items: list[Any], most: int | None) -> Any:
    """Stock's list of these items, of which the oldest are dropped if there are too many."""
    made: Any = new_instance(BoundedList)
    surplus = 0 if most is None else len(items) - most
    made.dropped = max(0, surplus)
    made._dq = deque(items, most)
    made._lock = _list_globals["threading"].Lock()
    return made
