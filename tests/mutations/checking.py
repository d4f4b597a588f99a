"""Runs programs with a changed function of stock, without and with this package, and compares."""

from __future__ import annotations

import functools
import gc
import importlib
import logging
import random
import re
import sys
import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import metadata

from functions import Recorder
from mutating import Mutation, note_users
from processes import LONG_S, Parent, in_child

from otel_fastpath.features import LIBRARIES
from otel_fastpath.instrumentor import FastpathInstrumentor
from otel_fastpath.patching import faults
from otel_fastpath.tools.prove.library_programs import library_programs
from otel_fastpath.tools.prove.log_programs import log_programs
from otel_fastpath.tools.prove.metric_programs import metric_programs
from otel_fastpath.tools.prove.program import RAISED, observe
from otel_fastpath.tools.prove.span_programs import span_programs

CORES = ("c", "py")
WAYS = ("before", "after", "source")
KINDS = ("result", "effect", "call", "object")
# How many there are of each library: one for each way of setting instrumentations up.
_PROGRAMS = 6
# How many programs that execute a function are run with it changed, of signals and of libraries.
_SIGNAL_PROGRAMS = 2
_LIBRARY_PROGRAMS = 3
# Of those on which it has an effect, so many are run with this package.
_MOST_PROGRAMS = 2
_SETTINGS = {"exceptions": "off"}


@dataclass
class Seen:
    """What programs showed with a changed function.

    Attributes:
        telemetry: What each of them showed, by name.
        calls: How many times the function was called in each.
        status: The reasons of the patches that are not in force.
        faults: The errors of this package that it has absorbed.
    """

    telemetry: dict[str, str]
    calls: dict[str, int]
    status: list[str] = field(default_factory=list)
    faults: int = 0

    def add(self, other):
        """Add what another process showed."""
        self.telemetry |= other.telemetry
        self.calls |= other.calls
        self.status += other.status
        self.faults += other.faults


@dataclass
class Row:
    """What became of one mutation.

    Attributes:
        place: The function.
        way: See `Mutation`.
        kind: Likewise.
        core: The core.
        outcome: "followed", "stood back", "by version", "no effect", "breaks stock" or "silent".
        program: The first program that shows a difference.
        difference: What it shows.
        faults: How many errors of this package were absorbed.
    """

    place: str
    way: str
    kind: str
    core: str
    outcome: str
    program: str = ""
    difference: str = ""
    faults: int = 0


def quiet():
    """Nothing is logged, nor warned of: a changed function makes stock complain."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    logging.disable(logging.NOTSET)
    logging.getLogger().handlers[:] = [logging.NullHandler()]
    logging.lastResort = None
    logging.raiseExceptions = False
    sys.unraisablehook = lambda _unraisable: None


class Checker:
    """All programs, and what they show with stock as it is.

    Args:
        only: Texts: only the programs whose names contain one of them, in any case; none: all.
    """

    def __init__(self, only=()):
        signals = [*span_programs(0, 7), *metric_programs(0, 5), *log_programs(0, 4)]
        self._signals = {each.name for each in signals}
        programs = (*signals, *library_programs(0, _PROGRAMS))
        self.programs = {
            each.name: each for each in programs if not only or any(text.lower() in each.name.lower() for text in only)
        }
        self._parents = {}
        self._by_version = {each.name: _replaced_packages(each) for each in LIBRARIES.wrappers}
        # Whatever is imported late is imported now, and of this package only that.
        for name in in_child(self._imported, LONG_S):
            importlib.import_module(name)
        for program in self.programs.values():
            observe(program)
        with Recorder() as recorder:
            for program in self.programs.values():
                recorder.begin(program.name)
                observe(program)
        self.functions = recorder.functions()
        for each in gc.get_objects():
            if type(each) is functools._lru_cache_wrapper and str(each.__module__).startswith("opentelemetry"):
                each.cache_clear()
        note_users()
        gc.collect()
        gc.freeze()
        self.stock = {name: in_child(lambda each=each: observe(each)) for name, each in self.programs.items()}

    def _imported(self):
        """The modules of this package that are imported when it is put in place and used."""
        for program in self.programs.values():
            observe(program)
        for core in CORES:
            self._prepare(core)
            FastpathInstrumentor().uninstrument()
        return sorted(name for name in sys.modules if name.startswith("otel_fastpath."))

    def check_programs(self):
        """The programs that do not show the same with this package as without, which prove nothing."""
        wrong = {}
        for core in CORES:
            seen = in_child(lambda core=core: self._observe(None, list(self.programs), core), LONG_S)
            again = in_child(lambda: self._observe(None, list(self.programs), None), LONG_S)
            for name, telemetry in seen.telemetry.items():
                for found in (telemetry, again.telemetry[name]):
                    if found != self.stock[name]:
                        wrong[name] = difference(self.stock[name], found)
        return wrong

    def begin(self, cores):
        """Fork the processes in which this package was used before a function changes."""
        self._parents = {
            core: Parent(lambda core=core: self._prepare(core), lambda given: self._observe(*given)) for core in cores
        }

    def end(self):
        """End these processes."""
        for each in self._parents.values():
            each.end()

    def _prepare(self, core):
        FastpathInstrumentor().instrument(core=core, **_SETTINGS)
        for program in self.programs.values():
            observe(program)
        gc.collect()
        gc.freeze()

    def programs_for(self, function, way, kind):
        """Those of the programs that execute a function which are run."""
        draw = random.Random(function.place)  # noqa: S311  # it is to repeat, not to be unguessable
        signals = [name for name in function.programs if name in self._signals]
        libraries = [name for name in function.programs if name not in self._signals]
        if way == "source":
            libraries = [name for name in libraries if not self._is_by_version(name, function, kind)]
        return [
            *draw.sample(signals, min(len(signals), _SIGNAL_PROGRAMS)),
            *draw.sample(libraries, min(len(libraries), _LIBRARY_PROGRAMS)),
        ]

    def _is_by_version(self, name, function, kind):
        """Whether our wrapper of the library stands for the function in the releases that it names, and in no others.

        Another span is the current one in such a wrapper, wherever it calls the SDK.
        """
        packages = self._by_version.get(name.rpartition(" ")[0].lower(), ())
        is_replaced = any(function.place.startswith((f"{each}.", f"{each}:")) for each in packages)
        return is_replaced or (kind == "effect" and bool(packages))

    def check(self, function, way, kind, cores):
        """Change a function in one way; a row for each core."""
        names = self.programs_for(function, way, kind)
        if not names:
            return [Row(function.place, way, kind, core, "by version") for core in cores]
        mutation = Mutation(function.place, way, kind)
        stock = self._seen(mutation, names, function, None)
        if stock is None:
            return [Row(function.place, way, kind, core, "breaks stock") for core in cores]
        if any(self._is_broken(name, stock.telemetry[name]) for name in names):
            return [Row(function.place, way, kind, core, "breaks stock") for core in cores]
        names = [
            name
            for name in names
            if (stock.calls[name] if kind == "call" else stock.telemetry[name] != self.stock[name])
        ][:_MOST_PROGRAMS]
        if not names:
            return [Row(function.place, way, kind, core, "no effect") for core in cores]
        return [self._row(function, way, kind, core, names, stock) for core in cores]

    def _is_broken(self, name, telemetry):
        """Whether a program's calls fail with a changed function, without this package."""
        before, after = (each.partition("\n")[0] for each in (self.stock[name], telemetry))
        if self.programs[name].is_exact:
            return after.count(RAISED) > before.count(RAISED)
        return after != before

    def _row(self, function, way, kind, core, names, stock):
        found = self._seen(Mutation(function.place, way, kind), names, function, core)
        row = Row(function.place, way, kind, core, "followed")
        if found is None:
            row.outcome, row.difference = "silent", "the process ended"
            return row
        row.faults = found.faults
        short = function.outermost.rpartition(".")[2].rpartition(":")[2]
        if any(short in reason for reason in found.status):
            row.outcome = "stood back"
        for name in names:
            is_counted = kind == "call" and found.calls[name] != stock.calls[name]
            if found.telemetry[name] != stock.telemetry[name] or is_counted:
                row.outcome, row.program = "silent", name
                row.difference = (
                    difference(stock.telemetry[name], found.telemetry[name])
                    or f"called {stock.calls[name]} times with stock, {found.calls[name]} with this package"
                )
                break
        return row

    def _seen(self, mutation, names, function, core):
        """What these programs show with a changed function; None if it could not be seen.

        After its first use it is changed in each of them, in a process of its own.
        """
        if mutation.way != "after":
            return in_child(lambda: self._observe(mutation, names, core, function))
        seen = Seen({}, {})
        for name in names:
            if core is None:
                found = in_child(lambda name=name: self._observe(mutation, [name], None, function))
            else:
                found = self._parents[core].ask((mutation, [name], None, self._index(function)))
            if found is None:
                return None
            seen.add(found)
        return seen

    def _index(self, function):
        return next(number for number, each in enumerate(self.functions) if each is function)

    def _observe(self, mutation, names, core, function=None):
        """Run these programs; put this package in place with this core, if one is named."""
        if isinstance(function, int):
            function = self.functions[function]
        if mutation is not None and mutation.way != "after":
            mutation.apply(function)
        if core is not None:
            FastpathInstrumentor().instrument(core=core, **_SETTINGS)
        seen = Seen({}, {})

        def at_pause():
            if mutation is not None and mutation.way == "after":
                mutation.apply(function)

        for name in names:
            before = 0 if mutation is None else mutation.calls
            seen.telemetry[name] = observe(self.programs[name], at_pause)
            seen.calls[name] = 0 if mutation is None else mutation.calls - before
        if FastpathInstrumentor().is_instrumented_by_opentelemetry:
            seen.status = [row.reason for row in FastpathInstrumentor().status() if row.reason]
            seen.faults = sum(faults.counts().values())
        return seen


def _replaced_packages(library):
    """The packages of stock that our wrapper of a library replaces in some releases only, and those that these pin."""
    names = {re.match(r"[\w-]+", each)[0] for rival in library.rivals for each in rival.emulated}
    with suppress(metadata.PackageNotFoundError):
        pinned = [each for name in names for each in metadata.requires(name) or () if "==" in each and ";" not in each]
        names |= {re.match(r"[\w-]+", each)[0] for each in pinned}
    return sorted(name.replace("-", ".") for name in names)


def difference(stock, fastpath):
    """Where two texts differ first; empty if they do not."""
    if stock == fastpath:
        return ""
    at = next(
        (number for number, (one, other) in enumerate(zip(stock, fastpath, strict=False)) if one != other),
        min(len(stock), len(fastpath)),
    )
    before = stock[max(0, at - 120) : at]
    return f"...{before}\n    stock:    {stock[at : at + 160]}\n    fastpath: {fastpath[at : at + 160]}"
