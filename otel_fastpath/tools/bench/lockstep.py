"""Processes that take turns: each times a block while the others wait, so that all see the same machine state."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from typing import TYPE_CHECKING, Any

from otel_fastpath.tools.budget.counting import processes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from otel_fastpath.tools.common.loopback import Loopback

_LONGEST_S = 10.0
_FEWEST_CYCLES = 10


class LegError(Exception):
    """A leg failed; the message is one line."""


class Leg:
    """The parent's end of one leg's process."""

    def __init__(
        self, name: str, servers: Mapping[str, str], path: Sequence[str], log: Any, loopback: Loopback
    ) -> None:
        self.name = name
        self._process = loopback.popen(
            processes.command("bench.leg", name, json.dumps(servers), *path),
            os.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )

    def send(self, *command: Any) -> None:
        """Send a command; call `answer` afterwards."""
        try:
            self._process.stdin.write(json.dumps(command) + "\n")  # type: ignore[union-attr]
            self._process.stdin.flush()  # type: ignore[union-attr]
        except OSError:
            raise LegError(f"the {self.name} process ended with {self._process.wait()}") from None

    def answer(self) -> Any:
        """Return the answer to the last command, even if it is an error.

        Raises:
            LegError: The process ended.
        """
        line = self._process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            raise LegError(f"the {self.name} process ended with {self._process.wait()}")
        return json.loads(line)

    def ask(self, *command: Any) -> Any:
        """Send a command and wait for its answer.

        Raises:
            LegError: The process ended, or the command failed.
        """
        self.send(*command)
        answer = self.answer()
        if isinstance(answer, dict) and "error" in answer:
            raise LegError(answer["error"])
        return answer

    def stop(self) -> None:
        """End the process."""
        try:
            self._process.stdin.close()  # type: ignore[union-attr]
            self._process.wait(5)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()  # type: ignore[union-attr]


def all_at_once(legs: Sequence[Leg], command: Callable[[Leg], Sequence[Any]]) -> dict[str, Any]:
    """Send a command to all legs, which run it concurrently; used for work that is not timed.

    Raises:
        LegError: One leg failed; the others have answered.
    """
    for leg in legs:
        leg.send(*command(leg))
    answers = {leg.name: leg.answer() for leg in legs}
    for name, answer in answers.items():
        if isinstance(answer, dict) and "error" in answer:
            raise LegError(f"{name}: {answer['error']}")
    return answers


def take_turns(legs: Sequence[Leg], cycles: int, seed: int, *, with_bare: bool = False) -> dict[str, list[float]]:
    """Time blocks of all legs in turn; return nanoseconds per call of each leg, one figure for each cycle.

    Args:
        legs: The legs, with a probe or scenario set up.
        cycles: The number of blocks of each leg.
        seed: The seed of the random order.
        with_bare: Whether to subtract the leg's own bare call, which is timed just before or after.
    """
    order = random.Random(seed)  # noqa: S311  # an order, no secret
    shuffled = list(legs)
    times: dict[str, list[float]] = {leg.name: [] for leg in legs}
    start = time.monotonic()
    for cycle in range(cycles):
        if cycle >= _FEWEST_CYCLES and time.monotonic() - start > _LONGEST_S:
            break
        order.shuffle(shuffled)
        for leg in shuffled:
            bare = leg.ask("block", "bare") if with_bare else 0.0
            times[leg.name].append(leg.ask("block", "instrumented") - bare)
    return times
