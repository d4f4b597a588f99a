"""What to count: the values of OTEL_FASTPATH_EXCEPTIONS*, read and checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from otel_fastpath import wrong_settings
from otel_fastpath.settings import title

OFF: Final = "off"
RAISED: Final = "raised"
HANDLED: Final = "handled"
MODES: Final = (OFF, RAISED, HANDLED)
OPTIONS: Final = ("code", "operations", "python")
# These end an iteration, a task or a process, and are not errors.
SKIPPED: Final = frozenset(
    {
        "StopIteration",
        "StopAsyncIteration",
        "GeneratorExit",
        "asyncio.exceptions.CancelledError",
        "KeyboardInterrupt",
        "SystemExit",
    }
)
LIMIT: Final = 200
# Types with longer names are counted together with the types beyond the limit.
LONGEST_NAME: Final = 255
# Raise sites in files with longer names, or in functions with names longer than `LONGEST_NAME`, are not counted
# separately.
LONGEST_FILE_NAME: Final = 1023
MAX_LIMIT: Final = 10_000


@dataclass(frozen=True)
class Settings:
    """What is counted, and how it is shown.

    Attributes:
        mode: "raised" counts exceptions; "handled" also counts those that were caught and not raised again; "off"
            counts nothing.
        asked: Whether the user has set the mode or an option; if not, there is no warning if counting is not possible.
        code: Count per raise site, and add its function, file and line to the metric's attributes.
        operations: Record on each server span the number of exceptions raised while it was open.
        python: If there is no compiled callback, use one in Python, which costs more than ten times as much.
        skip: Names of types that are not counted, including their subclasses.
        modules: The code whose exceptions are counted: () for all, ("mine",), ("no-stdlib",), or names of modules and
            packages.
        limit: How many types are counted separately; the rest is `_OTHER`.
    """

    mode: str = RAISED
    asked: bool = False
    code: bool = False
    operations: bool = False
    python: bool = False
    skip: frozenset[str] = SKIPPED
    modules: tuple[str, ...] = ()
    limit: int = LIMIT

    @classmethod
    def parse(cls, mode: Any = None, skip: Any = None, modules: Any = None, limit: Any = None) -> Settings:
        """Read the settings from variables or keyword arguments; None or "" counts as unset.

        Each list is an iterable of strings or one comma-separated string. Invalid values are reported and ignored.
        """
        known = MODES + OPTIONS
        words = wrong_settings.parts(title("exceptions"), mode, ", ".join(known))
        modes = [word for word in words if word in MODES]
        options = [word for word in words if word in OPTIONS]
        for word in words:
            if word not in known:
                wrong_settings.report(title("exceptions"), word, f"any of {', '.join(known)}", allowed=known)
        names = frozenset(wrong_settings.parts(title("exceptions_skip"), skip, "names of types"))
        return cls(
            mode=modes[-1] if modes else RAISED,
            asked=bool(modes or options),
            code="code" in options,
            operations="operations" in options,
            python="python" in options,
            skip=(names - {"default", "none"}) | (SKIPPED if "default" in names or not names else frozenset()),
            modules=tuple(wrong_settings.parts(title("exceptions_modules"), modules, "names of modules")),
            limit=_limit(limit),
        )


def _limit(value: Any) -> int:
    if value is None or value == "":
        return LIMIT
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if 1 <= number <= MAX_LIMIT:
        return number
    wrong_settings.report(title("exceptions_limit"), value, f"a number from 1 to {MAX_LIMIT}", f"{LIMIT} is used.")
    return LIMIT
