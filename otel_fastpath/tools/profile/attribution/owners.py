"""Who a sample belongs to: telemetry or the rest, and to which library and hook.

The stack is walked from its outermost frame inwards. Telemetry's first frame takes over; what it calls is telemetry's,
too, until telemetry calls what it was given: that belongs to whoever called telemetry. So a request of the application
is its own below a client's hook, and the request of an exporter is telemetry's below the same hook. The standard
library belongs to whoever calls it. The hook is the outermost frame of the telemetry that owns the sample; the call is
the function through which it left its own code last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from otel_fastpath.tools.profile.attribution import modules, passing

if TYPE_CHECKING:
    from collections.abc import Sequence


# The name of the frame that stands for a compiled function, which has none.
COMPILED_FRAME: Final = "(compiled)"


class Frame(NamedTuple):
    """One frame of a stack.

    Attributes:
        module: The name of its module.
        name: The qualified name of its function.
        file: The source file.
        first_line: Where the function begins.
        line: The line that is being executed.
    """

    module: str
    name: str
    file: str
    first_line: int
    line: int

    @property
    def function(self) -> str:
        """The function for people: "importlib.metadata.version"."""
        return f"{self.module.removesuffix('.__init__')}.{self.name}".replace(".<locals>", "")


class Owner(NamedTuple):
    """Who a sample belongs to.

    Attributes:
        begin: The index of the hook's frame; -1 if the sample is not telemetry's.
        call: The index of the frame that telemetry's own code called; -1 if it was running itself.
    """

    begin: int
    call: int


REST = Owner(-1, -1)


def owner(stack: Sequence[Frame]) -> Owner:
    """Who a sample belongs to.

    Args:
        stack: The frames, the outermost one first.
    """
    found = before = REST
    is_telemetry = is_passing = False
    for index, frame in enumerate(stack):
        if modules.kind(frame.module) == modules.TELEMETRY:
            if not is_telemetry:
                before = found
            found = Owner(index if found.begin < 0 else found.begin, -1)
            is_telemetry = True
            is_passing = not modules.is_pipeline(frame.module) and passing.passes_on(
                frame.file, frame.first_line, frame.line, is_last=frame is stack[-1]
            )
        elif is_telemetry and is_passing:
            found, is_telemetry = before, False
        else:
            if found.begin >= 0 and found.call < 0:
                found = found._replace(call=index)
            is_telemetry = False
    # What was given, and has no frame: a function of C, such as a driver's `execute`.
    is_given = is_telemetry and is_passing
    return before if is_given else found


def is_importing(stack: Sequence[Frame]) -> bool:
    """Whether a module is being imported: what a process does when it starts is not what a request costs."""
    return any(frame.name == "_find_and_load" and frame.module.endswith("_bootstrap") for frame in stack)
