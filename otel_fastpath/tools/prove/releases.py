"""What the releases of OpenTelemetry differ in."""

from __future__ import annotations

import inspect
from typing import Any


def make(call: Any, *args: Any, **kwargs: Any) -> Any:
    """What a class or function returns, without the keyword arguments that this release of it does not take."""
    parameters = inspect.signature(call).parameters
    takes_all = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())
    return call(*args, **{name: each for name, each in kwargs.items() if takes_all or name in parameters})
