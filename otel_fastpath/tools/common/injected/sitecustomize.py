"""Each Python that a command of otel-fastpath starts imports this: it refuses what would leave the machine.

Then the `sitecustomize` runs that would have been the first without this one, e.g. opentelemetry-instrument's.
"""

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

import otel_fastpath_loopback  # type: ignore[import-not-found]  # beside this file, which is on the path
import otel_fastpath_rule  # type: ignore[import-not-found]  # likewise

otel_fastpath_loopback.begin()
sys.path[:] = [folder for folder in sys.path if folder != otel_fastpath_rule.FOLDER]
_next = PathFinder.find_spec("sitecustomize")
if _next is not None and _next.loader is not None:
    _module = module_from_spec(_next)
    sys.modules["sitecustomize"] = _module
    _next.loader.exec_module(_module)
otel_fastpath_loopback.add()
