"""Stock's container around attributes that need no cleaning, made without its constructor. Compiled as `bounding_c`.

Stock's `BoundedAttributes` cleans each value and stores it on its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry import attributes as _attributes_api
from opentelemetry.attributes import BoundedAttributes

from otel_fastpath.compiled.helpers import new_instance
from otel_fastpath.compiled.interpreted import fill_attributes

if TYPE_CHECKING:
    from typing import Any

_attributes_globals = vars(_attributes_api)


def bounded_attributes(
    store: dict[str, Any], most: int | None, longest: int | None, immutable: bool
) -> BoundedAttributes:
    """Stock's container around this very dict, whose values are clean and no more than fit."""
    made: BoundedAttributes = new_instance(BoundedAttributes)
    fill_attributes(made, store, most, longest, _attributes_globals["threading"], immutable)
    return made
