"""Settings: keyword arguments of `instrument()` take precedence over OTEL_FASTPATH_* variables, these over defaults.

The only module that reads os.environ. An invalid value never raises: `wrong_settings` reports it, and it is ignored.
"""

from __future__ import annotations

import functools
import os
import signal
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from otel_fastpath import wrong_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

CORES: Final = ("c", "py")
ENTRY_POINT: Final = "fastpath"
# The modes of a library's wrapper.
MODES: Final = ("on", "off", "defer")
# The libraries whose wrappers are off by default.
_ON_REQUEST: Final = ("gevent",)
_DEFAULT_MODE: Final = "Using the default: otel-fastpath replaces the stock instrumentation."
# What is emitted besides what the service emitted before: nothing, or everything that this package can tell.
SAME: Final = "same"
FULL: Final = "full"
# The signals that mean nothing by themselves.
_SIGNALS: Final = ("SIGUSR1", "SIGUSR2")
# The capture mode -> whether content is captured as attributes of spans, and of events.
_CONTENT: Final = {"span_only": (True, False), "event_only": (False, True), "span_and_event": (True, True)}

_PREFIX: Final = "OTEL_FASTPATH_"
# Not a setting: the command sets it for the processes that it starts.
PROFILE_ORDER: Final = "_OTEL_FASTPATH_PROFILE"
# The keyword arguments besides those of features and libraries. For their environment variables, see `_variable`.
_SETTINGS: Final = ("disabled", "core", "telemetry", "status_folder", "profile_signal", "proven", "start_line")
# Variables that are read when the package is built.
_OF_THE_BUILD: Final = frozenset({"OTEL_FASTPATH_EXTENSION"})
# The variable that is read before anything is instrumented, and its values.
_LAZY: Final = f"{_PREFIX}LAZY_INSTRUMENTATIONS"
_SWITCH: Final = ("on", "off")
# Keyword arguments of other instrumentors, which callers may pass to all instrumentors.
_OF_OTHERS: Final = frozenset({"tracer_provider", "meter_provider", "logger_provider"})


class Setting(NamedTuple):
    """A setting that a feature declares.

    Attributes:
        name: The keyword argument; the environment variable is OTEL_FASTPATH_ and this name in upper case.
        parse: Returns the value from the name for messages and what was given, "" if nothing was.
        loads_all: Whether every part of the package is loaded at once if the setting is made.
    """

    name: str
    parse: Callable[[str, Any], Any] = wrong_settings.as_given
    loads_all: bool = False


@dataclass(frozen=True)
class Config:
    """The settings of a process.

    Attributes:
        disabled: Names of patches and wrappers that are off; `*` and `?` match as in file names.
        core: "c" or "py" requires that implementation; None selects the compiled one if it is available.
        stock: Why nothing is patched at all; empty if patches are applied.
        telemetry: "same" emits what the service emitted before, "full" all that this package can. What is set by name,
            such as `exceptions` or the mode of a library, takes precedence.
        features: The name of each `Setting` of a feature -> its value.
        loads_all: Whether every part of the package is loaded at once: if exceptions are counted, those that are raised
            while a part is loaded later would be counted, too.
        status_folder: The folder in which other processes ask for the status; empty if they cannot.
        profile_signal: The name of the signal on which the process profiles itself; empty if none.
        proven: The file that `otel-fastpath prove --write` has written; empty if none is used.
        start_line: Whether the line about this process may be written to stderr.
        libraries: Library -> "on", "off" or "defer", if set; `<library>_options` -> its options, if set.
        disabled_instrumentations: The names in OTEL_PYTHON_DISABLED_INSTRUMENTATIONS.
        semconv: The names in OTEL_SEMCONV_STABILITY_OPT_IN.
    """

    disabled: frozenset[str] = frozenset()
    core: str | None = None
    stock: str = ""
    telemetry: str = SAME
    features: Mapping[str, Any] = field(default_factory=dict)
    loads_all: bool = False
    status_folder: str = ""
    profile_signal: str = ""
    proven: str = ""
    start_line: bool = True
    libraries: Mapping[str, Any] = field(default_factory=dict)
    disabled_instrumentations: frozenset[str] = frozenset()
    semconv: frozenset[str] = frozenset()

    def mode(self, library: str) -> str:
        """The mode set for this library's wrapper: "on", "off" or "defer"; empty if not set."""
        return str(self.libraries.get(library, ""))

    def options(self, library: str) -> Any:
        """The options set for this library's wrapper, not parsed yet; empty if not set."""
        return self.libraries.get(f"{library}_options", "")

    def off(self, name: str) -> str | None:
        """Why the patch or wrapper of this name is off, or None if it is on."""
        if self.stock:
            return self.stock
        for pattern in sorted(self.disabled):
            if fnmatchcase(name, pattern):
                return f"disabled by setting ({pattern})"
        return None

    def check_names(self, known: Callable[[], Iterable[str]]) -> Config:
        """Report and drop names in `disabled` that match no patch or wrapper.

        Args:
            known: Returns the names of all of them; called if there is a name to check.
        """
        if not self.disabled:
            return self
        names = tuple(known())
        unknown = {pattern for pattern in self.disabled if not any(fnmatchcase(name, pattern) for name in names)}
        for pattern in sorted(unknown):
            wrong_settings.report(
                title("disabled"), pattern, "the name of a patch, or a pattern of names", allowed=names
            )
        return replace(self, disabled=self.disabled - unknown)


def from_env(
    environ: Mapping[str, str] | None = None,
    libraries: Sequence[str] = (),
    features: Sequence[Setting] = (),
    /,
    **keywords: Any,
) -> Config:
    """The settings of this process.

    Args:
        environ: The environment; by default os.environ.
        libraries: The names of the libraries for which there are wrappers; each of them has two settings.
        features: The settings that features declare.
        **keywords: `disabled` (names, or one comma-separated string), `core`, `telemetry`, `status_folder`,
            `profile_signal`, `proven` and `start_line`, see `Config`; the settings of features; for each library, its
            name and `<library>_options`. None counts as unset.
    """
    environ = os.environ if environ is None else environ
    wrong_settings.forget()
    of_libraries = [name for library in libraries for name in (library, f"{library}_options")]
    of_features = [each.name for each in features]
    _report_unknown(environ, keywords, {name: _variable(name) for name in (*_SETTINGS, *of_features, *of_libraries)})
    _report_misspelt(environ)
    lazy_instrumentations(environ)

    def read(parse: Callable[[str, Any], Any], name: str) -> Any:
        return wrong_settings.read(parse, *_given(name, keywords, environ))

    telemetry = read(_telemetry, "telemetry")
    values = {each.name: read(each.parse, each.name) for each in features}
    return Config(
        disabled=read(_names, "disabled"),
        core=read(_core, "core"),
        stock=_why_stock(environ),
        telemetry=telemetry,
        features=values,
        loads_all=telemetry == FULL or any(values[each.name] for each in features if each.loads_all),
        status_folder=read(_folder, "status_folder"),
        profile_signal=read(_signal, "profile_signal"),
        proven=read(_proof, "proven"),
        start_line=read(_start_line, "start_line"),
        libraries=_libraries(libraries, read),
        disabled_instrumentations=_listed(environ, "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS"),
        semconv=_listed(environ, "OTEL_SEMCONV_STABILITY_OPT_IN"),
    )


def status_folder(environ: Mapping[str, str] = os.environ) -> str:
    """The value of `Config.status_folder`, for the process that asks."""
    return _folder(*_given("status_folder", {}, environ))


def profile_signal(environ: Mapping[str, str] = os.environ) -> str:
    """The value of `Config.profile_signal`, for the process that asks."""
    return _signal(*_given("profile_signal", {}, environ))


def profile_order(environ: Mapping[str, str] = os.environ) -> str:
    """What `otel-fastpath profile` tells the processes that it starts; empty in any other process."""
    return environ.get(PROFILE_ORDER, "")


def with_profile_order(order: str, folder: str) -> dict[str, str]:
    """This environment for a process that is to be profiled, with a folder to import from before others."""
    path = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH", ""))))
    return {**os.environ, PROFILE_ORDER: order, "PYTHONPATH": path}


def wants_colour(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a terminal may be written to in colour: `NO_COLOR` is not set, and it is not a dumb one."""
    return not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


class GenAI(NamedTuple):
    """The values of OpenTelemetry's own variables for generative AI.

    Attributes:
        on_span: Whether content is recorded as attributes of spans.
        on_event: Whether content is recorded as attributes of events.
        events: Whether events are emitted.
        hook: The name of the completion hook; empty for none.
    """

    on_span: bool
    on_event: bool
    events: bool
    hook: str


def genai(environ: Mapping[str, str] = os.environ) -> GenAI:
    """Read OTEL_INSTRUMENTATION_GENAI_*, as `opentelemetry-util-genai` does."""
    prefix = "OTEL_INSTRUMENTATION_GENAI_"
    mode = _word_in(environ, f"{prefix}CAPTURE_MESSAGE_CONTENT", ("no_content", *_CONTENT))
    on_span, on_event = _CONTENT.get(mode, (False, False))
    emit = _word_in(environ, f"{prefix}EMIT_EVENT", ("true", "false"))
    events = emit == "true" if emit else on_event
    return GenAI(on_span, on_event, events, environ.get(f"{prefix}COMPLETION_HOOK", ""))


def disabled_instrumentations(environ: Mapping[str, str] = os.environ) -> frozenset[str]:
    """The names of the entry points that `opentelemetry-instrument` does not load."""
    return _listed(environ, "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS")


def is_false(variable: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a variable of another package is "false", in any case."""
    return environ.get(variable, "").lower() == "false"


def is_disabled(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether `opentelemetry-instrument` is told not to load this package."""
    return ENTRY_POINT in disabled_instrumentations(environ)


def lazy_instrumentations(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a stock instrumentation is loaded when its library is imported, not before."""
    return _word_in(environ, _LAZY, _SWITCH, "on is used.") != "off"


def loads_nothing(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether `opentelemetry-instrument` loads no instrumentations. An explicit `instrument()` still works."""
    return "*" in disabled_instrumentations(environ)


def extend_python_path(folders: Sequence[str]) -> list[str]:
    """Put folders in front of PYTHONPATH, for child processes, and return those that were not in it."""
    present = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    added = [path for path in folders if path not in present]
    first = folders[0]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([first, *added, *present]))
    return added


def _given(name: str, keywords: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[str, Any]:
    """The setting's name, as keyword argument or variable, and its value."""
    if keywords.get(name) is not None:
        return f"instrument({name}=...)", keywords[name]
    return _variable(name), environ.get(_variable(name), "")


def _variable(name: str) -> str:
    """The variable of the setting with this keyword."""
    return f"{_PREFIX}{name.upper()}"


def title(keyword: str) -> str:
    """The name of a setting for messages, if it is not known whether it was a variable or a keyword argument."""
    return f"{_PREFIX}{keyword.upper()} ({keyword}=)"


def _any_of(words: Iterable[str]) -> str:
    return f"one of {', '.join(words)}"


def _report_unknown(environ: Mapping[str, str], keywords: Mapping[str, Any], known: Mapping[str, str]) -> None:
    expected = "the name of a setting"
    for name in sorted(keywords.keys() - known.keys() - _OF_OTHERS):
        wrong_settings.report("instrument(...)", name, expected, allowed=known)
    ours = {name for name in environ if name.upper().startswith(_PREFIX)}
    for name in sorted(ours - {*known.values(), _LAZY} - _OF_THE_BUILD):
        wrong_settings.report("environment", name, expected, allowed=(*known.values(), _LAZY))


def _report_misspelt(environ: Mapping[str, str]) -> None:
    """Report misspellings of our entry point's name, which OpenTelemetry's variable must contain exactly."""
    variable = "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS"
    for name in sorted(_listed(environ, variable) - {ENTRY_POINT}):
        if ENTRY_POINT in "".join(filter(str.isalpha, name.lower())):
            wrong_settings.report(variable, name, f"{ENTRY_POINT}, which is the name of otel-fastpath there")


def _names(setting: str, value: Any) -> frozenset[str]:
    return frozenset(wrong_settings.parts(setting, value, "names of patches"))


def _word(setting: str, value: Any, words: Sequence[str], expected: str, effect: str) -> str:
    """The word, in lower case, that the value is; an empty string if it is not set, or none of these words."""
    asked = value.strip().lower() if isinstance(value, str) else value
    if asked in words:
        return str(asked)
    if asked != "":
        wrong_settings.report(setting, value, expected, effect, allowed=words)
    return ""


def _word_in(environ: Mapping[str, str], name: str, words: Sequence[str], effect: str = "The default is used.") -> str:
    """Like `_word`, for an environment variable."""
    return _word(name, environ.get(name, ""), words, _any_of(words), effect)


def _core(setting: str, value: Any) -> str | None:
    effect = "The compiled core is used if it is available."
    return _word(setting, value, CORES, "c (compiled) or py (pure Python)", effect) or None


def _telemetry(setting: str, value: Any) -> str:
    expected = f"{SAME} (what the service emitted before) or {FULL} (all that otel-fastpath can tell)"
    return _word(setting, value, (SAME, FULL), expected, f"{SAME} is used.") or SAME


def _start_line(setting: str, value: Any) -> bool:
    return _word(setting, value, _SWITCH, _any_of(_SWITCH), "on is used.") != "off"


def _mode(effect: str, setting: str, value: Any) -> str:
    return _word(setting, value, MODES, _any_of(MODES), effect)


def _path(is_there: Callable[[str], bool], expected: str, effect: str, setting: str, value: Any) -> str:
    try:
        asked = os.path.abspath(value) if value else ""  # noqa: PTH100  # pathlib would be imported by each service
        if not asked or (isinstance(asked, str) and is_there(asked)):
            return asked
    except (TypeError, ValueError):
        pass  # not a path at all
    wrong_settings.report(setting, value, f"{expected} that exists, as str or Path", effect)
    return ""


_folder: Final = functools.partial(_path, os.path.isdir, "a folder", "No other process can ask for the status.")
_proof: Final = functools.partial(_path, os.path.isfile, "a file", "Nothing counts as proven.")


def _signal(setting: str, value: Any) -> str:
    asked = value.strip().upper() if isinstance(value, str) else value
    if not asked or (asked in _SIGNALS and hasattr(signal, asked)):
        return str(asked or "")
    wrong_settings.report(setting, value, _any_of(_SIGNALS), "The process does not profile itself.", allowed=_SIGNALS)
    return ""


def _why_stock(environ: Mapping[str, str]) -> str:
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return "OTEL_SDK_DISABLED is true"
    if ENTRY_POINT in _listed(environ, "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS"):
        return f"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS names {ENTRY_POINT}"
    return ""


def _libraries(libraries: Sequence[str], read: Callable[[Callable[[str, Any], Any], str], Any]) -> dict[str, Any]:
    found = {}
    for library in libraries:
        effect = "It stays off." if library in _ON_REQUEST else _DEFAULT_MODE
        found[library] = read(functools.partial(_mode, effect), library)
        found[f"{library}_options"] = read(wrong_settings.as_given, f"{library}_options")
    return {name: value for name, value in found.items() if value != ""}


def _listed(environ: Mapping[str, str], variable: str) -> frozenset[str]:
    """The names in a variable of OpenTelemetry's that is a comma-separated list."""
    return frozenset(name.strip() for name in environ.get(variable, "").split(",") if name.strip())


def environment() -> Any:
    """The environment in its encoded form, to compare it with a copy; None if `os.environ` is not CPython's."""
    # Decoding it to look for proxies takes a fifth of the time of sending a request.
    return getattr(os.environ, "_data", None)


# Encoded names of variables -> what is set: a look-up in `os.environ` of one that is not set takes 3,000 instructions.
_is_encoded = type(environment()) is dict and callable(getattr(os.environ, "encodekey", None))
VARIABLES: Final[Mapping[Any, Any]] = environment() if _is_encoded else os.environ


def encoded(name: str) -> Any:
    """The key of this variable in `VARIABLES`."""
    return os.environ.encodekey(name) if _is_encoded else name
