"""The `opentelemetry_instrumentor` entry point: applies and removes the patches that the settings ask for."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation import _semconv
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined]

from otel_fastpath import compiled, wrong_settings
from otel_fastpath import settings as config
from otel_fastpath.locks import Lock
from otel_fastpath.patching import faults, interpreter
from otel_fastpath.patching.declarations import LateInstallation, Patches
from otel_fastpath.patching.instrumentor_report import StatusReport
from otel_fastpath.patching.patch import Patcher
from otel_fastpath.patching.quiet import Quiet
from otel_fastpath.patching.sources import proven
from otel_fastpath.status import presence

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from otel_fastpath.patching.feature import Feature
    from otel_fastpath.patching.patch import Row

_logger = Quiet(__name__)
_lock = Lock()


class FastpathInstrumentor(BaseInstrumentor):  # type: ignore[misc]
    """Makes OpenTelemetry cheap in this process; `uninstrument()` restores the original code.

    `opentelemetry-instrument` finds and calls it automatically. To call it explicitly:

        FastpathInstrumentor().instrument()

    Keyword arguments of `instrument`: those of `otel_fastpath.settings.from_env`; `meter_provider` and
    `tracer_provider`, which are for the metrics and spans of this package's own. Invalid arguments or variables do not
    raise: `otel_fastpath.wrong_settings` reports each once.
    """

    _parts: tuple[LateInstallation, ...] | None = None
    _stop_answering: Callable[[], None] = staticmethod(lambda: None)

    def instrument(self, **kwargs: Any) -> Any:
        """Instrument this process, unless it is instrumented already. For the arguments, see the class."""
        # The first instrumentor of a process fixes the value of OTEL_SEMCONV_STABILITY_OPT_IN for all later ones. Ours
        # must not, so that state is restored below.
        stability: Any = None
        modes: dict[Any, Any] = {}
        before: dict[Any, Any] = {}
        is_settled = True
        try:
            stability = getattr(_semconv, "_OpenTelemetrySemanticConventionStability", None)
            modes = getattr(stability, "_OTEL_SEMCONV_STABILITY_SIGNAL_MAPPING", {})
            before = dict(modes)
            is_settled = getattr(stability, "_initialized", True)
        except Exception as error:
            faults.report("instrument", error)
        try:
            return super().instrument(**kwargs)
        except Exception as error:
            faults.absorb("instrument", error)
            return None
        finally:
            try:
                if stability is not None and not is_settled:
                    modes.clear()
                    modes.update(before)
                    stability._OTEL_SEMCONV_STABILITY_SIGNAL_MAPPING = modes
                    stability._initialized = False
            except Exception as error:
                faults.report("instrument", error)

    def instrumentation_dependencies(self) -> Collection[str]:
        """No dependencies: each patch waits for its own target."""
        return ()

    def status(self) -> StatusReport:
        """The state of every patch, in the order of `otel-fastpath status`, and in `tracers` the way of all spans."""
        ways = []
        if self.is_instrumented_by_opentelemetry:
            try:
                ways = [way for feature in _features() for way in feature.ways()]
            except Exception as error:
                faults.report("status", error)
        return StatusReport(self._rows(), ways)

    def _rows(self, *, loads: bool = True) -> list[Row]:
        """The rows of every patch, or of those that are loaded."""
        rows = [row for part in self._installations() for row in part.status(loads=loads)]
        return rows + [row for feature in _features() for row in feature.status(loads=loads)]

    def _rows_so_far(self) -> list[Row]:
        return self._rows(loads=False)

    def _installations(self) -> tuple[LateInstallation, ...]:
        """The parts of all features that declare patches; wrappers are installed by their feature."""
        if self._parts is None:
            # This imports modules, so it must not hold the lock.
            every = [part for feature in _features() for part in feature.parts if not part.wrapper]
            first = Patcher((), interpreter.installed)
            parts = tuple(
                LateInstallation(part, lambda patches: Patches(Patcher(patches, interpreter.installed, beside=first)))
                for part in every
            )
            with _lock:
                # On the class: the instrumentor is a singleton, and the patches belong to the process.
                if self._parts is None:
                    type(self)._parts = parts
                    type(self)._first = first
        made: tuple[LateInstallation, ...] = self._parts  # type: ignore[assignment]
        return made

    def _instrument(self, **kwargs: Any) -> None:
        try:
            features = _features()
            libraries = [part.wrapper for feature in features for part in feature.parts if part.wrapper]
            of_features = [setting for feature in features for setting in feature.settings]
            settings = config.from_env(None, libraries, of_features, **kwargs)
            parts = self._installations()
            settings = settings.check_names(lambda: [row.name for row in self._rows()])
            off = self._switch(settings)
            _use_proof(settings.proven)
            self._first.install()
            for part in parts:
                part.install(settings, off, kwargs, is_asked_for=settings.loads_all)
            if not settings.stock and find_spec("opentelemetry.sdk") is None:
                _logger.warning("OpenTelemetry's SDK is not installed: only the patches of its API are applied.")
        except Exception:
            _logger.exception("otel-fastpath could not be applied; OpenTelemetry runs unchanged.")
            return
        # Before exceptions are counted: OpenTelemetry and logging raise some while they answer for the first time.
        presence.is_heard()
        self._count(settings, kwargs.get("meter_provider"))
        for feature in features:
            try:
                feature.start(settings, off, kwargs)
            except Exception:  # noqa: PERF203  # a failure in one feature must not affect the others
                _logger.exception(feature.without)
        self._show(settings)

    def _count(self, settings: config.Config, meter_provider: Any) -> None:
        """Report the number of patches, if the settings ask for it."""
        try:
            if settings.telemetry == config.FULL and not settings.stock:
                presence.count(self._rows_so_far, meter_provider)
        except Exception as error:
            faults.report("status", error)

    def _show(self, settings: config.Config) -> None:
        """Say that this process is instrumented, in the ways that the settings ask for."""
        try:
            presence.say(self._rows_so_far, settings.stock, is_wanted=settings.start_line)
        except Exception as error:
            faults.report("status", error)
        if settings.status_folder:
            try:
                from otel_fastpath.status import running  # noqa: PLC0415  # imported on request only

                running.answer(settings.status_folder, self.status)
                type(self)._stop_answering = staticmethod(running.stop)
            except Exception as error:
                faults.report("status", error)

        if settings.profile_signal:
            try:
                from otel_fastpath.tools.profile import remote  # noqa: PLC0415  # imported on request only

                problem = remote.answer(settings.profile_signal)
                if problem:
                    _logger.warning("No profile on request: %s.", problem)
            except Exception as error:
                faults.report("profile", error)

    def _switch(self, settings: config.Config) -> Callable[[str], str | None]:
        """The function that returns why a patch is off, or None if it is on."""
        if settings.stock:
            return settings.off
        why_off = interpreter.WHY_NO_CORE or ("" if settings.core else interpreter.WHY_ON_REQUEST)
        if why_off:
            _logger.warning("Most of otel-fastpath is left off: %s.", why_off)
            return lambda name: why_off if _needs_gil(name) else settings.off(name)
        try:
            compiled.choose(settings.core)
        except ImportError as error:
            reason = f"the {settings.core} core was asked for and cannot be imported ({error})"
            setting = config.title("core")
            wrong_settings.report(setting, settings.core, f"py: {reason}", "Nothing is patched.", level=logging.ERROR)
            return lambda _name: reason
        return settings.off

    def _uninstrument(self, **kwargs: Any) -> None:  # noqa: ARG002  # BaseInstrumentor's interface
        try:
            self._stop_answering()
            presence.stop()
            for feature in reversed(_features()):
                feature.stop()
            for part in reversed(self._installations()):
                part.uninstall()
            proven.use(proven.NOTHING)
        except Exception:
            _logger.exception("otel-fastpath could not be removed completely.")


def _use_proof(file: str) -> None:
    """Accept the sources that this file says were proven here."""
    if not file:
        return
    from otel_fastpath.patching.sources import proof_file  # noqa: PLC0415  # imported on request only

    try:
        proven.use(proof_file.read(file, compiled.implementation()[0]))
    except proof_file.ProofError as error:
        wrong_settings.report(config.title("proven"), file, str(error), "Nothing counts as proven.")


def _features() -> tuple[Feature, ...]:
    # Imported when instrumenting, not before.
    from otel_fastpath.features import FEATURES  # noqa: PLC0415  # see above

    return FEATURES


def _needs_gil(name: str) -> bool:
    """Whether the patch of this name, which is loaded, needs the global interpreter lock."""
    loaded = (part for feature in _features() for part in feature.parts if part.is_loaded())
    return any(patch.name == name and patch.needs_gil for part in loaded for patch in part.patches())
