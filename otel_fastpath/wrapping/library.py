"""The declaration of a wrapper, and its state in this process: on, off, replacing a rival or deferring to one.

If several instrumentations of one library are enabled, exactly one of them emits. A rival that is taken over does not
touch the library: our wrapper instruments it instead. If our wrapper defers, it is off and the rival does its work.
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.locks import Agenda, Lock
from otel_fastpath.patching import interpreter
from otel_fastpath.patching.patch import Patch, Patcher, State
from otel_fastpath.patching.quiet import Quiet
from otel_fastpath.patching.sources.guard import Distributions, UnmetError
from otel_fastpath.settings import SAME
from otel_fastpath.wrapping import layers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from otel_fastpath.patching.patch import Row
    from otel_fastpath.settings import Config

_logger = Quiet(__name__)

PROVIDERS: Final = ("tracer_provider", "meter_provider", "logger_provider")


@dataclass(frozen=True)
class Rival:
    """Another OpenTelemetry instrumentation of the same library.

    Attributes:
        name: Its name in the status, e.g. "stock".
        target: "module:Class" of its instrumentor, a `BaseInstrumentor`.
        emulated: PEP 508 requirements, of every distribution whose code our wrapper stands for: the releases that it
            replaces, emitting the same telemetry. It defers to all others; empty: to every release.
        given_keywords: Returns the keyword arguments that its instrumentor was given, if it instrumented before ours.
        beyond: Patches, by name or pattern, for what it does not instrument: they are off if our wrapper replaces it
            and must emit nothing more than it.
        silent: Likewise, but they are applied and emit nothing: what the library executes inside of such a call is part
            of it, as with this instrumentation.
        dependencies: The requirements that its instrumentor checks, as they are if our wrapper replaces it: it may
            refuse a release of the library that ours supports. Empty: its own.
    """

    name: str
    target: str
    emulated: tuple[str, ...] = ()
    given_keywords: Callable[[Any], dict[str, Any]] = lambda _instrumentor: {}
    beyond: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()


@dataclass(frozen=True)
class Setup:
    """The configuration that a wrapper works with from now on.

    Attributes:
        providers: `tracer_provider`, `meter_provider` and `logger_provider`, if they were given.
        options: The library's options as they were set; the wrapper parses them.
        semconv: The values in `OTEL_SEMCONV_STABILITY_OPT_IN`.
        rival: The name of the rival that our wrapper replaces and emulates; empty: none.
        instrumentor: That rival's instrumentor.
        keywords: All keyword arguments that the rival's instrumentor was given.
        was_instrumented: Whether it had instrumented before our wrapper; its attributes then hold what it made.
        is_same: Whether to emit nothing that the rival would not emit.
    """

    providers: Mapping[str, Any] = field(default_factory=dict)
    options: Any = ""
    semconv: frozenset[str] = frozenset()
    rival: str = ""
    instrumentor: Any = None
    keywords: Mapping[str, Any] = field(default_factory=dict)
    was_instrumented: bool = False
    is_same: bool = False


@dataclass(frozen=True)
class Library:
    """A wrapper's declaration; the package of each library exports one, called LIBRARY.

    Attributes:
        name: The name of the library and of its settings.
        why: One sentence for the status: what the wrapper does.
        patches: Applied when the library is imported; their names begin with the library's.
        configure: Called before patches are applied, and again whenever the `Setup` changes.
        read: Reads the settings and reports invalid ones; called instead of `configure` if our wrapper defers.
        rivals: The other instrumentations of the library.
        entry_points: The rivals' names for OTEL_PYTHON_DISABLED_INSTRUMENTATIONS: disabling one disables our wrapper.
        stop: Called after the patches were removed, and if they are off.
        is_on_request: Whether only its own setting turns it on, and not `telemetry="full"`: it emits nothing, and
            changes what others emit.
    """

    name: str
    why: str
    patches: tuple[Patch, ...]
    configure: Callable[[Setup], None]
    read: Callable[[Setup], object] = lambda _setup: None
    rivals: tuple[Rival, ...] = ()
    entry_points: frozenset[str] = frozenset()
    stop: Callable[[], None] | None = None
    is_on_request: bool = False


@dataclass
class _TakenOver:
    """A rival's instrumentor that our wrapper replaces."""

    rival: Rival
    instrumentor: Any
    keywords: dict[str, Any]
    # Its attributes, if it had instrumented before our wrapper.
    state: dict[str, Any] | None = None


class Wrapper:
    """One library's wrapper in this process. No method raises."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._patcher = Patcher(library.patches, interpreter.installed)
        self._rivals = Patcher(
            (patch for rival in library.rivals for patch in self._rival_patches(rival)), interpreter.installed
        )
        self._off: Callable[[str], str | None] = lambda _name: "not instrumented"
        self._why_it_is_off: str | None = None
        self._mode = ""
        self._settings: Config | None = None
        self._setup = Setup()
        self._taken: list[_TakenOver] = []
        # The rival beyond which our wrapper emits nothing.
        self._limit: Rival | None = None
        # The targets of the rivals for which it stands back -> what else the status says of them.
        self._ahead: dict[str, str] = {}
        # Held only to read and change the state, never while code outside of this class is called.
        self._lock = Lock()
        self._agenda = Agenda()

    def install(self, settings: Config, off: Callable[[str], str | None], providers: Mapping[str, Any]) -> None:
        """Apply the patches now or when the library is imported, as these settings say."""
        self._agenda.do(functools.partial(self._install, settings, off, providers))

    def _install(self, settings: Config, off: Callable[[str], str | None], providers: Mapping[str, Any]) -> None:
        self._settings = settings
        self._mode = settings.mode(self.library.name)
        self._setup = Setup(
            {name: providers[name] for name in PROVIDERS if providers.get(name) is not None},
            settings.options(self.library.name),
            settings.semconv,
        )
        why_off = self._why_it_is_off = self._why_off(settings)
        self._off = off if why_off is None else lambda _name: why_off
        # First, so that our wrapper patches the library itself, not a rival's wrapper.
        self._rivals.install(self._off, settings)
        for rival in self.library.rivals:
            self._meet(rival)
        self._settle()

    def uninstall(self, reason: str = "uninstrumented") -> None:
        """Remove all patches; a rival that our wrapper replaced instruments the library now."""
        self._agenda.do(functools.partial(self._uninstall, reason))

    def _uninstall(self, reason: str) -> None:
        self._off = lambda _name: reason
        self._patcher.uninstall(reason)
        if self.library.stop is not None:
            self._run_guarded(self.library.stop)
        self._rivals.uninstall(reason)
        with self._lock:
            taken, self._taken = self._taken, []
            self._ahead.clear()
        for each in taken:
            self._run_guarded(self._give_back, each)

    def status(self) -> list[Row]:
        """The state of every patch of the library and of its rivals' instrumentors."""
        limit = self._limit
        rows = self._patcher.status()
        if limit is not None:
            silent = f"telemetry={SAME}: it emits nothing, as the {limit.name} instrumentation"
            rows = [
                replace(row, reason=silent) if row.state is State.APPLIED and _is_any(row.name, limit.silent) else row
                for row in rows
            ]
        return rows + self._rivals.status()

    def _why_off(self, settings: Config) -> str | None:
        if self._mode == "off":
            return f"{self.library.name} is set to off"
        named = self.library.entry_points & settings.disabled_instrumentations
        if named and self._mode != "on":
            return f"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS names {', '.join(sorted(named))}"
        return None

    def _settle(self) -> None:
        """Update the wrapper to the current state of its rivals."""
        taken = tuple(self._taken)
        self._limit = None
        reason = self._why_it_is_off or ""
        if self._ahead:
            reason = f"it stands back for {', '.join(target + why for target, why in tuple(self._ahead.items()))}"
        elif self.library.is_on_request and self._mode != "on":
            reason = f"{self.library.name} is not set to on"
        elif self._is_same() and not taken:
            reason = f"telemetry={SAME}: the instrumentation of {self.library.name} is not loaded in this process"
        if reason:
            self._run_guarded(self.library.read, self._setup)
            self._patcher.install(lambda name: self._off(name) or reason, self._settings)
            if self.library.stop is not None:
                self._run_guarded(self.library.stop)
            return
        setup = self._setup
        for each in taken:
            if self._emulates(each.rival):
                # Its spans go to its own provider. Signals that it does not emit go to our wrapper's providers.
                given = {name: value for name, value in setup.providers.items() if name != "tracer_provider"}
                given |= {name: each.keywords[name] for name in PROVIDERS if each.keywords.get(name) is not None}
                setup = replace(
                    setup,
                    providers=given,
                    rival=each.rival.name,
                    instrumentor=each.instrumentor,
                    keywords=each.keywords,
                    was_instrumented=each.state is not None,
                    is_same=self._is_same(),
                )
                self._limit = each.rival if setup.is_same else None
        self._run_guarded(self.library.configure, setup)
        self._patcher.install(lambda name: self._off(name) or self._beyond(name), self._settings)

    def _beyond(self, patch: str) -> str | None:
        """Why this patch is off if our wrapper must emit nothing that the rival would not emit."""
        if self._limit is None or not _is_any(patch, self._limit.beyond):
            return None
        return f"telemetry={SAME}: the {self._limit.name} instrumentation emits nothing for it"

    def _is_same(self) -> bool:
        """Whether to emit only what the service emitted before: a mode that is set asks for our wrapper by name."""
        return not self._mode and self._settings is not None and self._settings.telemetry == SAME

    def _emulates(self, rival: Rival) -> bool:
        if not rival.emulated:
            return False
        installed = Distributions(interpreter.installed)
        try:
            for each in rival.emulated:
                installed.check(each, any_version=False)
        except UnmetError:
            return False
        return True

    def _takes_over(self, rival: Rival) -> bool:
        return self._mode == "on" or (self._mode != "defer" and self._emulates(rival))

    def _meet(self, rival: Rival) -> None:
        """Handle a rival that may have instrumented before our wrapper."""
        instrumentor = self._instrumented(rival)
        if instrumentor is None or any(each.instrumentor is instrumentor for each in self._taken):
            return
        package = rival.target.partition(":")[0]
        vendor = layers.above(package, (patch.target for patch in self.library.patches))
        if vendor or not self._takes_over(rival):
            self._ahead[rival.target] = f", around which {vendor} has put a wrapper" if vendor else ""
            return
        uninstrument = self._original(rival, "_uninstrument")
        if uninstrument is not None:
            state = dict(vars(instrumentor))
            taken = _TakenOver(rival, instrumentor, {}, state)
            self._run_guarded(lambda: taken.keywords.update(rival.given_keywords(instrumentor)))
            self._run_guarded(uninstrument, instrumentor)
            self._taken.append(taken)

    def _instrumented(self, rival: Rival) -> Any:
        module, _, name = rival.target.partition(":")
        kind = getattr(sys.modules.get(module), name, None)
        instrumentor = getattr(kind, "_instance", None)
        return instrumentor if getattr(instrumentor, "_is_instrumented_by_opentelemetry", False) else None

    def _original(self, rival: Rival, method: str) -> Any:
        swap = self._rivals.installations[self._patch_name(rival, method)].swap
        return swap.original if swap is not None and swap.is_active else None

    def _give_back(self, taken: _TakenOver) -> None:
        if self._instrumented(taken.rival) is taken.instrumentor:
            taken.instrumentor._instrument(**taken.keywords)
            vars(taken.instrumentor).update(taken.state or {})

    def _patch_name(self, rival: Rival, method: str) -> str:
        return f"{self.library.name}.{rival.name}.{method.strip('_')}"

    def _rival_patches(self, rival: Rival) -> tuple[Patch, ...]:
        methods = [("_instrument", self._make_instrument), ("_uninstrument", self._make_uninstrument)]
        if rival.dependencies:
            methods.append(("instrumentation_dependencies", self._make_dependencies))
        return tuple(
            Patch(
                name=self._patch_name(rival, method),
                target=f"{rival.target}.{method}",
                why="When it is instrumented, the wrapper here takes its place or stands back: one span per call.",
                make=functools.partial(make, rival),
                needs_gil=False,
            )
            for method, make in methods
        )

    def _make_dependencies(self, rival: Rival, original: Any, _settings: Config) -> Any:
        @functools.wraps(original)
        def instrumentation_dependencies(self_: Any) -> Any:
            return rival.dependencies if self._takes_over(rival) else original(self_)

        return instrumentation_dependencies

    def _make_instrument(self, rival: Rival, original: Any, _settings: Config) -> Any:
        @functools.wraps(original)
        def _instrument(self_: Any, **kwargs: Any) -> Any:
            if self._begins(rival, self_, kwargs):
                return None
            return original(self_, **kwargs)

        return _instrument

    def _make_uninstrument(self, rival: Rival, original: Any, _settings: Config) -> Any:
        @functools.wraps(original)
        def _uninstrument(self_: Any, **kwargs: Any) -> Any:
            if self._ends(rival, self_):
                return None
            try:
                return original(self_, **kwargs)
            finally:
                self._on_rival_stopped(rival)

        return _uninstrument

    def _begins(self, rival: Rival, instrumentor: Any, keywords: dict[str, Any]) -> bool:
        """Handle a rival's `instrument` call; return whether our wrapper instruments instead."""
        taken = _TakenOver(rival, instrumentor, dict(keywords)) if self._takes_over(rival) else None
        with self._lock:
            if taken is not None:
                self._taken.append(taken)
            else:
                self._ahead[rival.target] = ""
        self._agenda.do(self._settle)
        return taken is not None

    def _ends(self, rival: Rival, instrumentor: Any) -> bool:
        """Handle a rival's `uninstrument` call; return whether our wrapper had replaced it."""

        def stays(taken: _TakenOver) -> bool:
            return taken.rival is not rival or taken.instrumentor is not instrumentor

        with self._lock:
            left = list(filter(stays, self._taken))
            was_taken = len(left) < len(self._taken)
            self._taken = left
        if was_taken:
            self._agenda.do(self._settle)
        return was_taken

    def _on_rival_stopped(self, rival: Rival) -> None:
        """Handle that a rival, to which our wrapper may have deferred, is off."""
        with self._lock:
            was_ahead = self._ahead.pop(rival.target, None) is not None
        if was_ahead:
            self._agenda.do(self._settle)

    def _run_guarded(self, function: Callable[..., object], *args: Any) -> None:
        try:
            function(*args)
        except Exception:
            _logger.exception("The %s wrapper could not be set up completely.", self.library.name)


def _is_any(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
