"""What was recorded in one process, as a file of JSON: the process writes it, and the command reads it."""

from __future__ import annotations

import json
import os
import platform
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.status import exchange
from otel_fastpath.tools.profile.attribution.owners import COMPILED_FRAME, Frame

if TYPE_CHECKING:
    from pathlib import Path
    from types import CodeType

    from otel_fastpath.tools.profile.sampler import Sampler
    from otel_fastpath.tools.profile.threads import Key

SUFFIX: Final = ".recording"
_OWN: Final = "otel_fastpath.tools.profile"


@dataclass
class Recording:
    """The samples of one process.

    Attributes:
        process: Its id.
        python: The version of Python.
        seconds: How long it was recorded.
        cpu: The CPU time that the process used meanwhile, in seconds.
        own: The part of it that the profile used.
        collecting: The part of it that garbage collections took in the main thread.
        lost: The part of it whose stacks were not kept.
        requests: The number of requests that were served, as far as they were counted.
        samples: The number of samples.
        frames: Every frame that occurs.
        main: For each second, the samples of the main thread: the indexes of the frames, the outermost one first, and
            the CPU time in seconds.
        others: For each second, the samples of the other threads: the kind of thread, the frames, the CPU time.
        calls: Calls in a second: "module.function" -> number.
        patches: Name, target and state of each patch, if otel-fastpath is active in the process.
        core: The core in use, "c" or "py"; empty if none.
        compiled: The names of what is compiled, and those under which it is called: of functions, methods, patches.
    """

    process: int
    python: str
    seconds: float
    cpu: float
    own: float
    collecting: float
    lost: float
    samples: int
    requests: int
    frames: list[Frame]
    main: list[list[tuple[list[int], float]]]
    others: list[list[tuple[str, list[int], float]]]
    calls: dict[str, float]
    patches: list[tuple[str, str, str]] = field(default_factory=list)
    core: str = ""
    compiled: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, sampler: Sampler) -> Recording:
        """What a sampler has found, after it was stopped."""
        table = _Frames(sampler)
        end = time.perf_counter_ns()
        made = cls(
            process=os.getpid(),
            python=platform.python_version(),
            seconds=sampler.wall_ns / 1e9,
            cpu=sampler.cpu_ns / 1e9,
            own=sampler.own_ns / 1e9,
            collecting=sampler.collecting_ns / 1e9,
            lost=sampler.lost_ns / 1e9,
            samples=sampler.samples + sampler.others.samples,
            requests=sampler.calls.requests(),
            frames=table.frames,
            main=[[(table.stack(key), ns / 1e9) for key, ns in list(second.items())] for second in sampler.main],
            others=[
                [(kind, table.stack(key), ns / 1e9) for (kind, key), ns in list(second.items())]
                for second in sampler.others.seconds
            ],
            calls={},
        )
        for key, rate in sampler.calls.rates(end).items():
            code, module = sampler.codes[key]
            name = f"{module}.{_name(code)}"
            made.calls[name] = made.calls.get(name, 0.0) + rate
        return made

    def write(self, folder: Path) -> None:
        """Write the recording to a folder, completely or not at all.

        Raises:
            OSError: It cannot be written.
        """
        target = folder / f"{self.process}{SUFFIX}"
        partial = target.with_suffix(".partial")
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(asdict(self), file)
        partial.replace(target)

    @classmethod
    def read(cls, path: Path) -> Recording:
        """Read a recording.

        Raises:
            OSError: It cannot be read.
            ValueError: It is not a recording.
        """
        # The names are those of any code in another process.
        found: dict[str, Any] = exchange.printable_in(json.loads(exchange.read(path)))
        try:
            found["frames"] = [Frame(*frame) for frame in found["frames"]]
            return cls(**found)
        except (TypeError, KeyError) as error:
            raise ValueError(f"{path} is not a recording of this version: {error}") from None


class _Frames:
    """The frames of a sampler's stacks, each once."""

    def __init__(self, sampler: Sampler) -> None:
        self.frames: list[Frame] = []
        self._indexes: dict[Frame, int] = {}
        self._known: dict[tuple[int, int], int] = {}
        self._codes = sampler.codes
        self._modules = sampler.native.modules

    def stack(self, key: Key) -> list[int]:
        """The indexes of a stack's frames, the outermost one first."""
        found = [self._frame(key[at], key[at + 1]) for at in range(len(key) - 2, 0, -2)]
        while found and self.frames[found[-1]].module.startswith(_OWN):
            found.pop()
        if 0 <= key[0] < len(self._modules):
            found.append(self._index(Frame(self._modules[key[0]], COMPILED_FRAME, "", 0, 0)))
        return found

    def _frame(self, key: int, offset: int) -> int:
        found = self._known.get((key, offset))
        if found is None:
            code, module = self._codes[key]
            line = _line(code, offset)
            found = self._known[key, offset] = self._index(
                Frame(module, _name(code), code.co_filename, code.co_firstlineno, line)
            )
        return found

    def _index(self, frame: Frame) -> int:
        if frame not in self._indexes:
            self._indexes[frame] = len(self.frames)
            self.frames.append(frame)
        return self._indexes[frame]


def _name(code: CodeType) -> str:
    # Before Python 3.11 there is only the plain name.
    return str(getattr(code, "co_qualname", code.co_name))


def _line(code: CodeType, offset: int) -> int:
    for begin, end, line in code.co_lines():
        if begin <= offset < end and line is not None:
            return line
    return code.co_firstlineno
