"""Environment variables that stock reads for each request or call, without their cost.

A look-up of a variable that is not set in `os.environ` takes 3,000 instructions: its name is encoded, and an exception
is raised and caught. The mapping below it has encoded names and is changed with `os.environ`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_below: Any = getattr(os.environ, "_data", None)
_is_known = type(_below) is dict and callable(getattr(os.environ, "encodekey", None))

# Maps encoded names to the variables that are set.
VARIABLES: Final[Mapping[Any, Any]] = _below if _is_known else os.environ


def encoded(name: str) -> Any:
    """The key of this variable in `VARIABLES`."""
    return os.environ.encodekey(name) if _is_known else name
