"""Runs programs in a process of its own, with stock or with this package.

`python -m otel_fastpath.tools.prove.observer NUMBER`: each line of standard input is an order as JSON, and each line of
standard output the answer.
"""

from __future__ import annotations

import functools
import gc
import json
import logging
import os
import sys
import warnings
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from otel_fastpath import FastpathInstrumentor
from otel_fastpath.patching.patch import State, installations
from otel_fastpath.patching.sources import proven
from otel_fastpath.patching.sources.guard import function_of, resolve
from otel_fastpath.tools.prove.catalogue import programs
from otel_fastpath.tools.prove.new_statements import known_statements, unshown_lines
from otel_fastpath.tools.prove.program import observe, observe_steps
from otel_fastpath.tools.prove.reach import Reach

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Trial:
    """Accepts sources that no release knows, in order to see what follows.

    Args:
        accepted: The fingerprints that are accepted, by place; None: every one.

    Attributes:
        found: Those that were asked for.
    """

    def __init__(self, accepted: Mapping[str, str] | None) -> None:
        self._accepted = accepted
        self.found: dict[str, str] = {}

    def accepts(self, place: str, found: str) -> bool:
        """Whether it is accepted."""
        self.found[place] = found
        return self._accepted is None or self._accepted.get(place) == found

    def remark(self, places: Iterable[str]) -> str:
        """Nothing."""
        del places
        return ""


class Observer:
    """Carries out the orders; each method is one."""

    def __init__(self, number: int) -> None:
        self._programs = {each.name: each for each in programs(number)}
        self._trial = Trial({})
        self._reach: Reach | None = None

    def names(self) -> list[str]:
        """The names of all programs."""
        return list(self._programs)

    def instrument(self, core: str, accepted: dict[str, str] | None) -> None:
        """Put this package in place, with the sources that it knows and these."""
        self._trial = Trial(accepted)
        proven.use(self._trial)
        FastpathInstrumentor().instrument(core=core, exceptions="off")

    def unknown(self) -> dict[str, Any]:
        """The unknown sources that were asked for, and the patches that rest on them."""
        applied = [each for each in installations() if each.state is State.APPLIED]
        rests_on = {each.patch.name: sorted(each.places() & self._trial.found.keys()) for each in applied}
        patches = {name: places for name, places in rests_on.items() if places}
        return {"sources": self._trial.found, "patches": patches}

    def reach(self, places: list[str]) -> None:
        """From now on, note which lines of these functions are executed."""
        self._reach = Reach({place: _codes(function_of(resolve(place))) for place in places})

    def observe(self, names: list[str]) -> dict[str, str]:
        """What these programs show."""
        reach = self._reach
        calls = {name: functools.partial(observe, self._programs[name]) for name in names}
        return {name: call() if reach is None else reach.during(name, call) for name, call in calls.items()}

    def reached(self, names: list[str]) -> dict[str, Any]:
        """Those of these programs that have executed each function, and the new lines of it that none has executed."""
        reach, known = self._reach, known_statements()
        if reach is None:
            return {}
        missed = reach.missed(set(names))
        return {
            place: {
                "programs": [name for name in names if name in of],
                "missed": unshown_lines(function_of(resolve(place)), known.get(place, ""), set(missed[place])),
                "has_code": place in reach.with_code,
            }
            for place, of in reach.programs.items()
        }

    def show(self, name: str, skipped: list[list[int]]) -> dict[str, Any]:
        """What one program shows without some of its steps, and the steps that it takes."""
        text, steps = observe_steps(self._programs[name], skipped=frozenset(map(tuple, skipped)))
        return {"text": text, "steps": [[list(step), called] for step, called in steps.items()]}


def _codes(function: Any) -> list[CodeType]:
    if not isinstance(function, type):
        return [function.__code__]
    methods = (function_of(each) for each in vars(function).values())
    # Those of a data class are made, and have no lines.
    own = [each.__code__ for each in methods if type(each) is FunctionType]
    return [code for code in own if not code.co_filename.startswith("<")]


def main(number: int) -> None:
    """Answer until there are no more orders."""
    # The programs, and what they use, may print.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    warnings.simplefilter("ignore")
    logging.getLogger().addHandler(logging.NullHandler())
    logging.raiseExceptions = False
    observer = Observer(number)
    gc.collect()
    for line in sys.stdin:
        order: dict[str, Any] = json.loads(line)
        answer = getattr(observer, order.pop("order"))(**order)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
