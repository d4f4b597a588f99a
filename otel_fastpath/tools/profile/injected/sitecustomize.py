"""Each Python that `otel-fastpath profile` starts imports this: it runs the next `sitecustomize`, then the profile."""

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

from otel_fastpath.tools.profile import order

_here = __file__.rpartition("/")[0] or __file__.rpartition("\\")[0]
sys.path[:] = [folder for folder in sys.path if folder != _here]
_next = PathFinder.find_spec("sitecustomize")
if _next is not None and _next.loader is not None:
    _module = module_from_spec(_next)
    sys.modules["sitecustomize"] = _module
    _next.loader.exec_module(_module)
order.obey()
