from collections.abc import Callable
from typing import Any, final

@final
class Layer:
    left: int
    inert: bool
    def __new__(cls, function: Callable[..., Any], timed: Callable[[Any, Any], Any], left: int) -> Layer: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
