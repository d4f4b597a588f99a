"""The entry points that `opentelemetry-instrument` calls before and after it loads the instrumentations.

It calls them whatever OTEL_PYTHON_DISABLED_INSTRUMENTATIONS says, so they look at that themselves. If this package is
disabled by name, no module of it stays in the process.
"""

from __future__ import annotations

import sys

from otel_fastpath import settings

_PACKAGE = __name__.partition(".")[0]
# What importing this module imports of this package.
_OWN = frozenset({_PACKAGE, __package__, __name__, settings.__name__, f"{_PACKAGE}.wrong_settings"})


def before() -> None:
    """The entry point of `opentelemetry_pre_instrument`. Never raises: an exception would end the instrumenting."""
    try:
        if settings.loads_nothing() or settings.is_disabled():
            _leave()
        elif settings.lazy_instrumentations():
            from otel_fastpath.start import late  # noqa: PLC0415  # only if they are asked for

            late.begin()
    except Exception:
        _log()


def after() -> None:
    """The entry point of `opentelemetry_post_instrument`. Never raises."""
    try:
        if settings.loads_nothing() or settings.is_disabled():
            _leave()
        else:
            late = sys.modules.get(f"{__package__}.late")
            if late is not None:
                late.end()
    except Exception:
        _log()


def _leave() -> None:
    """Forget the modules of this package, unless somebody else has imported it."""
    ours = {name for name in tuple(sys.modules) if name.partition(".")[0] == _PACKAGE}
    if ours <= _OWN:
        for name in ours:
            sys.modules.pop(name, None)


def _log() -> None:
    from otel_fastpath.patching.quiet import Quiet  # noqa: PLC0415  # not needed otherwise

    Quiet(__name__).exception("Instrumentations are loaded at the start, not when their libraries are imported.")
