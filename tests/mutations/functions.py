"""The functions of stock that programs execute, and what they return."""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass, field
from types import FunctionType

from otel_fastpath.patching.sources.guard import SkipError, owner_of

# Of the API, the SDK, the exporters, what instrumentations share, and the instrumentations.
PREFIXES = (
    *(f"opentelemetry.{name}" for name in ("_logs", "attributes", "baggage", "context", "metrics", "propagate")),
    *(f"opentelemetry.{name}" for name in ("propagators", "trace", "util", "sdk", "instrumentation")),
    *("opentelemetry.exporter.otlp", "opentelemetry.exporter.http"),
)
_TOOL = 3


@dataclass
class Function:
    """A function of stock.

    Attributes:
        place: "module:qualified.name"; with "<locals>" if it is defined in another function.
        code: Its code.
        returned: The names of the types that it returned.
        programs: The names of the programs that execute it.
    """

    place: str
    code: object
    returned: set[str] = field(default_factory=set)
    programs: list[str] = field(default_factory=list)

    @property
    def outermost(self):
        """The place of the function that it is defined in, or its own."""
        return self.place.partition(".<locals>")[0]

    def owner(self):
        """The module or class that has the outermost function as an attribute, and the attribute's name."""
        return owner_of(sys.modules[self.place.partition(":")[0]], self.outermost)


def modules():
    """Every module of stock that is imported, by the name of its file."""
    found = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and any(name == prefix or name.startswith(f"{prefix}.") for prefix in PREFIXES):
            found[file] = name
    return found


class Recorder:
    """Notes which functions of stock are executed while it is used in a `with` statement."""

    def __init__(self):
        self._modules = modules()
        self._functions = {}
        self._program = ""
        self._started = defaultdict(list)

    def __enter__(self):
        """Begin."""
        monitoring = sys.monitoring
        monitoring.use_tool_id(_TOOL, "mutations")
        monitoring.register_callback(_TOOL, monitoring.events.PY_START, self._start)
        monitoring.register_callback(_TOOL, monitoring.events.PY_RETURN, self._return)
        monitoring.set_events(_TOOL, monitoring.events.PY_START | monitoring.events.PY_RETURN)
        return self

    def __exit__(self, *_error):
        """End."""
        sys.monitoring.set_events(_TOOL, 0)
        sys.monitoring.free_tool_id(_TOOL)

    def begin(self, program):
        """This program runs from now on."""
        self._program = program
        sys.monitoring.restart_events()

    def _start(self, code, _offset):
        module = self._modules.get(code.co_filename)
        if module is not None and not code.co_name.startswith("<"):
            function = self._functions.get(code)
            if function is None:
                function = self._functions[code] = Function(f"{module}:{code.co_qualname}", code)
            if self._program not in function.programs:
                function.programs.append(self._program)
        return sys.monitoring.DISABLE

    def _return(self, code, _offset, value):
        function = self._functions.get(code)
        if function is None:
            return sys.monitoring.DISABLE
        function.returned.add(type(value).__name__)
        return None

    def functions(self):
        """What was executed and can be replaced or changed, in the order of the places."""
        found = {}
        for function in self._functions.values():
            if _is_replaceable(function):
                # A property's setter has the same place.
                found.setdefault(function.place, function)
        return [found[place] for place in sorted(found)]


def _is_replaceable(function):
    try:
        owner, name = function.owner()
    except SkipError:
        return False
    return function_in(vars(owner).get(name), function.code if function.outermost == function.place else None)


def function_in(value, code=None):
    """The function that stock has written in this place, below its decorators; with this code, if it is given."""
    for _ in range(10):
        if isinstance(value, property):
            value = value.fget
        elif isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        elif type(value) is FunctionType and (value.__code__ is code or not hasattr(value, "__wrapped__")):
            break
        else:
            value = getattr(value, "__wrapped__", None)
    if type(value) is not FunctionType or (code is not None and value.__code__ is not code):
        return None
    return value
