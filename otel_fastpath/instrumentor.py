"""The `opentelemetry_instrumentor` entry point: settings -> patches on, and off again."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation import _semconv
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined]

from otel_fastpath import compiled, exceptions, libraries, wrong_settings
from otel_fastpath import settings as config
from otel_fastpath.locks import Lock
from otel_fastpath.patching import faults, interpreter
from otel_fastpath.patching.patch import Patcher
from otel_fastpath.patching.quiet import Quiet
from otel_fastpath.rooms import all_patches

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from otel_fastpath.patching.patch import Row

_logger = Quiet(__name__)
_lock = Lock()


class FastpathInstrumentor(BaseInstrumentor):  # type: ignore[misc]
    """Makes the OpenTelemetry of this process cheap; `uninstrument()` puts back what was there.

    `opentelemetry-instrument` finds and calls it by itself. To call it explicitly::

        FastpathInstrumentor().instrument()

    Keyword arguments of `instrument`: `disabled` and `core`, as in `otel_fastpath.settings.Config`; those of
    `otel_fastpath.settings.from_env` for exceptions and libraries; `meter_provider` and `tracer_provider`, for them
    too. No argument and no variable makes it raise: `otel_fastpath.wrong_settings` tells what is not valid, once.
    """

    _patcher: Patcher | None = None
    _need_gil: frozenset[str] = frozenset()

    def instrument(self, **kwargs: Any) -> Any:
        """See the class; as every instrumentor, unless it did so before."""
        # The first instrumentor of a process settles what OTEL_SEMCONV_STABILITY_OPT_IN is for all that follow. Ours
        # does not read it.
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
        """Nothing must be installed for it: each patch waits for its own target."""
        return ()

    def status(self) -> list[Row]:
        """What became of every patch, in the order of `otel-fastpath status`."""
        return self._patches().status() + libraries.status() + exceptions.status()

    def _patches(self) -> Patcher:
        if self._patcher is None:
            # Imports modules: no lock is held meanwhile.
            patches = all_patches()
            patcher = Patcher(patches, interpreter.installed)
            need_gil = frozenset(patch.name for patch in patches if patch.needs_gil) | libraries.need_gil()
            with _lock:
                # On the class: the instrumentor is a singleton, and so is what it did to this process.
                if self._patcher is None:
                    type(self)._need_gil = need_gil
                    type(self)._patcher = patcher
        made: Patcher = self._patcher  # type: ignore[assignment]
        return made

    def _instrument(self, **kwargs: Any) -> None:
        try:
            settings = config.from_env(**kwargs)
            patcher = self._patches()
            settings = settings.check_names(row.name for row in self.status())
            off = self._switch(settings)
            patcher.install(off, settings)
            if not settings.stock and find_spec("opentelemetry.sdk") is None:
                _logger.warning("OpenTelemetry's SDK is not installed: only what patches its API is in place.")
        except Exception:
            _logger.exception("otel-fastpath could not be put in place; OpenTelemetry runs as it is.")
            return
        try:
            libraries.install(settings, off, kwargs)
        except Exception:
            _logger.exception("Libraries are not wrapped.")
        try:
            self._count_exceptions(settings, off(exceptions.NAME), kwargs)
        except Exception:
            _logger.exception("Exceptions are not counted.")

    @staticmethod
    def _count_exceptions(settings: config.Config, off: str | None, providers: dict[str, Any]) -> None:
        if off is not None:
            exceptions.stop(off)
            return
        exceptions.start(
            exceptions.Settings.parse(*settings.exceptions),
            settings.core,
            meter_provider=providers.get("meter_provider"),
            tracer_provider=providers.get("tracer_provider"),
        )

    def _switch(self, settings: config.Config) -> Callable[[str], str | None]:
        """What says of each patch why it is left off."""
        if settings.stock:
            return settings.off
        if interpreter.WHY_NO_CORE:
            _logger.warning("Most of otel-fastpath is left off: %s.", interpreter.WHY_NO_CORE)
            return lambda name: interpreter.WHY_NO_CORE if name in self._need_gil else settings.off(name)
        try:
            compiled.choose(settings.core)
        except ImportError as error:
            reason = f"the {settings.core} core was asked for and cannot be imported ({error})"
            setting = config.title("core")
            wrong_settings.tell(setting, settings.core, f"py: {reason}", "Nothing is patched.", level=logging.ERROR)
            return lambda _name: reason
        return settings.off

    def _uninstrument(self, **kwargs: Any) -> None:  # noqa: ARG002  # BaseInstrumentor's interface
        try:
            exceptions.stop("uninstrumented")
            libraries.uninstall()
            self._patches().uninstall()
        except Exception:
            _logger.exception("otel-fastpath could not be taken off completely.")
