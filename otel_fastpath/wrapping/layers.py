"""What other code has put around the wrappers of another instrumentation."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

from otel_fastpath.patching.sources.guard import SkipError, owner_of
from otel_fastpath.patching.sources.origin import origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# The stock instrumentations of databases have their wrappers from it.
_SHARED = "opentelemetry.instrumentation.dbapi"
_OURS = "otel_fastpath"
# A chain of wrappers that is longer is a cycle.
_MOST = 100


def above(package: str, targets: Iterable[str]) -> str:
    """The module whose code has wrapped a wrapper of this package's; empty if there is none.

    Uninstrumenting would take off the wrapper on top, which is not that instrumentation's own.

    Args:
        package: The package of the instrumentation.
        targets: "module:qualified.name" of what it may have wrapped. The modules are not imported.
    """
    for target in targets:
        origins = [origin(layer) for layer in layers_at(target)]
        others = [name for name in origins if not _is_in(name, _OURS)]
        own = [number for number, name in enumerate(others) if _is_in(name, package) or _is_in(name, _SHARED)]
        if own and own[0] > 0:
            return others[0]
    return ""


def layers_at(target: str) -> Iterator[Any]:
    """The value of an attribute, "module:qualified.name", and what it is wrapped around; the module is not imported."""
    module = sys.modules.get(target.partition(":")[0])
    try:
        owner, name = owner_of(module, target)
    except SkipError:
        return
    layer = inspect.getattr_static(owner, name)
    for _ in range(_MOST):
        if layer is None:
            return
        yield layer
        layer = getattr(layer, "__wrapped__", None)


def _is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")
