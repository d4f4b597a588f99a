"""Finds out which sources that no release knows change nothing of the telemetry."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.prove.observer_process import ObserverProcess
from otel_fastpath.tools.prove.program import BROKEN
from otel_fastpath.tools.prove.shrinking import SmallestDifference, smallest_difference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

# What is looked at by no patch, but by what a patch has put in place.
PARTS: Final = "(parts)"


@dataclass
class Source:
    """A function that no release knows.

    Attributes:
        place: "module:qualified.name".
        fingerprint: Its fingerprint.
        programs: The programs that execute it.
        missed: The lines of its new statements that none of them executes.
    """

    place: str
    fingerprint: str
    programs: list[str] = field(default_factory=list)
    missed: list[int] = field(default_factory=list)


@dataclass
class Group:
    """Patches that rest on the same unknown sources.

    Attributes:
        patches: Their names.
        sources: The sources.
        programs: The programs that execute one of them.
        differing: Those that show another telemetry with these patches.
        difference: The smallest one that was found.
    """

    patches: list[str]
    sources: list[Source]
    programs: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    difference: SmallestDifference | None = None

    @property
    def missing(self) -> str:
        """Why nothing is proven although no program shows a difference; empty if there is no reason."""
        for source in self.sources:
            if not source.programs:
                return f"no program executes {source.place}"
            if source.missed:
                lines = ", ".join(map(str, source.missed))
                return f"no program executes line{'s' * (len(source.missed) > 1)} {lines} of {source.place}"
        return ""

    @property
    def is_proven(self) -> bool:
        """Whether the sources may be accepted."""
        return not self.differing and not self.missing


@dataclass
class Findings:
    """What was found.

    Attributes:
        groups: The patches with unknown sources; none if every source is known.
        cores: The cores that were tried.
        programs: The number of programs that were run.
    """

    groups: list[Group]
    cores: Sequence[str]
    programs: int


class Prover:
    """Tries the patches whose sources are unknown.

    Args:
        number: How many programs there are of each library: see `catalogue.programs`.
        cores: The cores.
        show: Shows the progress: what is done, what there is to do, and a text.
    """

    def __init__(self, number: int, cores: Sequence[str], show: Callable[[int, int, str], None]) -> None:
        self._number = number
        self._cores = cores
        self._show = show

    def prove(self) -> Findings:
        """Run the programs, and compare.

        Raises:
            ObserverError: A process ended.
        """
        with ExitStack() as running:
            self._show(0, 4, "starting")
            stock = running.enter_context(closing(ObserverProcess(self._number)))
            ours = [running.enter_context(closing(ObserverProcess(self._number, core))) for core in self._cores]
            names: list[str] = stock.ask("names")
            self._show(1, 4, "looking for sources that no release knows")
            # Some sources are only asked for in use.
            self._observe(ours, _firsts(names))
            groups = self._groups(ours)
            if not groups:
                return Findings([], self._cores, 0)
            self._show(2, 4, "running programs with stock OpenTelemetry")
            sources = list({each.place: each for group in groups for each in group.sources}.values())
            shown = self._run_stock(stock, names, sources)
            # What a program was to show that this release cannot run is not shown.
            programs = self._note_reach(stock, [name for name in names if not shown[name].startswith(BROKEN)], sources)
            self._show(3, 4, "running them with otel-fastpath")
            # What differs in any case is no proof either, nor is what only such programs execute.
            programs = self._note_reach(stock, self._without_known_differences(programs, shown), sources)
            for group in groups:
                group.programs = [name for name in programs if any(name in each.programs for each in group.sources)]
            differing = self._differing(shown, self._observe(ours, programs))
            find_causes(groups, differing, lambda group: self._try(group.sources, group.programs, shown))
            for group in groups:
                group.difference = self._smallest(stock, group)
            self._show(4, 4, "")
            return Findings(groups, self._cores, len(programs))

    def _smallest(self, stock: ObserverProcess, group: Group) -> SmallestDifference | None:
        for core in self._cores if group.differing else ():
            with closing(self._with(core, group.sources)) as fastpath:
                found = smallest_difference(stock, fastpath, group.differing)
            if found is not None:
                return found
        return None

    def _groups(self, ours: Sequence[ObserverProcess]) -> list[Group]:
        answers = [each.ask("unknown") for each in ours]
        sources = {place: Source(place, found) for each in answers for place, found in each["sources"].items()}
        by_places: dict[tuple[str, ...], list[str]] = {}
        for patch, places in {name: places for each in answers for name, places in each["patches"].items()}.items():
            by_places.setdefault(tuple(places), []).append(patch)
        for place in sources.keys() - {place for places in by_places for place in places}:
            by_places[place,] = [PARTS]
        return [Group(patches, [sources[place] for place in places]) for places, patches in sorted(by_places.items())]

    def _run_stock(self, stock: ObserverProcess, names: list[str], sources: Sequence[Source]) -> dict[str, str]:
        """What all programs show, while it is noted which lines of the sources they execute."""
        # What is imported late, and what is done once, would be seen in the first of them only.
        stock.ask("observe", names=_firsts(names))
        stock.ask("reach", places=sorted(each.place for each in sources))
        shown: dict[str, str] = stock.ask("observe", names=names)
        return shown

    def _note_reach(self, stock: ObserverProcess, names: list[str], sources: Sequence[Source]) -> list[str]:
        """Note what these programs execute of the sources; returns those that execute one."""
        reached = stock.ask("reached", names=names)
        for each in sources:
            found = reached[each.place]
            # A data class without functions of its own is used by all that use its package.
            each.programs = found["programs"] if found["has_code"] else names
            each.missed = found["missed"] if found["has_code"] else []
        used = {name for each in sources for name in each.programs}
        return [name for name in names if name in used]

    def _without_known_differences(self, programs: list[str], shown: dict[str, str]) -> list[str]:
        """These programs without those that differ with the known sources alone."""
        with ExitStack() as running:
            known = [running.enter_context(closing(ObserverProcess(self._number, core, {}))) for core in self._cores]
            different = set(self._differing(shown, self._observe(known, programs)))
        return [name for name in programs if name not in different]

    def _observe(self, ours: Iterable[ObserverProcess], names: list[str]) -> list[dict[str, str]]:
        """What these programs show with each core; the processes run at the same time."""
        running = list(ours)
        for each in running:
            each.begin("observe", names=names)
        return [each.answer() for each in running]

    def _differing(self, shown: dict[str, str], found: list[dict[str, str]]) -> list[str]:
        return [name for name in found[0] if any(each[name] != shown[name] for each in found)]

    def _with(self, core: str, sources: Iterable[Source]) -> ObserverProcess:
        return ObserverProcess(self._number, core, {each.place: each.fingerprint for each in sources})

    def _try(self, sources: list[Source], names: list[str], shown: dict[str, str]) -> list[str]:
        """The programs that differ if nothing else is accepted."""
        with ExitStack() as running:
            ours = [running.enter_context(closing(self._with(core, sources))) for core in self._cores]
            self._observe(ours, names[:1])
            return self._differing(shown, self._observe(ours, names))


def find_causes(groups: Sequence[Group], differing: Sequence[str], run: Callable[[Group], list[str]]) -> None:
    """Find out which groups make programs differ.

    Args:
        groups: The groups, whose `differing` is set.
        differing: The programs that differ if the sources of all groups are accepted.
        run: Returns those that differ if only the sources of a group are accepted.
    """
    if differing and len(groups) > 1:
        for group in groups:
            group.differing = run(group)
    if not any(group.differing for group in groups):
        # It takes several of them: none is proven.
        for group in groups:
            group.differing = [name for name in differing if name in group.programs]


def _firsts(names: Iterable[str]) -> list[str]:
    """One program of each kind."""
    return list({name.rpartition(" ")[0]: name for name in names}.values())


def proven_sources(groups: Iterable[Group]) -> dict[str, Any]:
    """The sources of what is proven, by place."""
    return {each.place: each for group in groups if group.is_proven for each in group.sources}
