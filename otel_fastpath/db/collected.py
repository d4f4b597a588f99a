"""What stands for a span where a stock instrumentation's function sets attributes."""

from __future__ import annotations

from typing import Any


class CollectedAttributes(dict[str, Any]):
    """A span that only collects attributes."""

    set_attribute = dict.__setitem__
    set_attributes = dict.update

    def is_recording(self) -> bool:
        """Always: the functions may ask."""
        return True
