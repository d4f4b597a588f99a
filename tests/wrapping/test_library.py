"""One span per call, whoever else instruments the library, in whatever order; and nothing is left behind."""

from __future__ import annotations

import functools
import importlib
import itertools
import sys

import pytest
import wrapt

from otel_fastpath import wrong_settings
from otel_fastpath.features import LIBRARIES
from otel_fastpath.patching.declarations import Declarations, LateInstallation
from otel_fastpath.patching.patch import Patch
from otel_fastpath.settings import Config
from otel_fastpath.wrapping import library as _library

RIVAL = """
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor
import subject_library

class SubjectInstrumentor(BaseInstrumentor):
    def instrumentation_dependencies(self):
        return ()

    def _instrument(self, **kwargs):
        self.provider = kwargs.get("tracer_provider")
        self.original = subject_library.call
        def call(original=self.original):
            return ["rival", self.provider, *original()]
        subject_library.call = call

    def _uninstrument(self, **kwargs):
        subject_library.call = self.original
"""


class World:
    """A library that says who is around its only function, a rival, and our wrapper.

    Attributes:
        setup: What our wrapper was told last.
    """

    def __init__(self, modules, emulated):
        modules("subject_library", "def call():\n    return ['host']\n\ndef more():\n    return ['host']\n")
        modules("subject_rival", RIVAL)
        self.setup = None
        library = _library.Library(
            name="subject",
            why="It is tested.",
            patches=(
                Patch("subject.call", "subject_library:call", "It is called.", self._make, needs_gil=False),
                Patch("subject.more", "subject_library:more", "Only ours has it.", self._make, needs_gil=False),
            ),
            configure=self._configure,
            rivals=(_library.Rival("stock", "subject_rival:SubjectInstrumentor", emulated, beyond=("subject.mor?",)),),
            entry_points=frozenset({"subject-stock"}),
        )
        self.wrapper = _library.Wrapper(library)
        self.original = importlib.import_module("subject_library").call

    def _configure(self, setup):
        self.setup = setup

    def _make(self, original, settings):
        self.made_with = settings

        @functools.wraps(original)
        def call():
            return ["ours", *original()]

        return call

    def ours(self, mode="", telemetry="full", **settings):
        """Instrument with ours."""
        config = Config(libraries={"subject": mode}, telemetry=telemetry, **settings)
        self.wrapper.install(config, config.off, {"tracer_provider": "our provider"})

    def theirs(self):
        """The rival's instrumentor."""
        return importlib.import_module("subject_rival").SubjectInstrumentor()

    def call(self):
        """Who is around the library's function, from outside in."""
        return sys.modules["subject_library"].call()


RELEASES = {
    "emulated": ("pytest", "packaging"),
    "another release": ("pytest<1",),
    "another release of what it uses": ("pytest", "packaging<1"),
}


@pytest.fixture(params=RELEASES)
def world(modules, request):
    """One whose rival's telemetry ours can emit, and others whose rival, or what it uses, is of another release."""
    made = World(modules, RELEASES[request.param])
    made.is_emulated = request.param == "emulated"
    yield made
    made.wrapper.uninstall()


def test_alone_ours_is_installed(world):
    """With what `instrument()` was given."""
    world.ours(semconv=frozenset({"database"}))

    assert world.call() == ["ours", "host"]
    assert world.setup.providers == {"tracer_provider": "our provider"}
    assert (world.setup.rival, world.setup.instrumentor) == ("", None)
    assert world.made_with.semconv == {"database"}


@pytest.mark.parametrize("mode", ["", "on", "defer", "off"])
@pytest.mark.parametrize("ours_first", [True, False])
def test_exactly_one_is_around_the_call(world, mode, ours_first):
    """In either order, whatever the setting: `on` takes over, `defer` and `off` stand back."""
    if ours_first:
        world.ours(mode)
        world.theirs().instrument(tracer_provider="their provider")
    else:
        world.theirs().instrument(tracer_provider="their provider")
        world.ours(mode)

    ours = mode == "on" or (mode == "" and world.is_emulated)
    assert world.call() == (["ours", "host"] if ours else ["rival", "their provider", "host"])
    if ours and world.is_emulated:
        assert (world.setup.rival, world.setup.instrumentor) == ("stock", world.theirs())
        assert world.setup.providers == ({"tracer_provider": "their provider"} if ours_first else {})
    elif ours:
        assert world.setup.rival == ""
    world.theirs().uninstrument()
    assert world.call() == (["host"] if mode == "off" else ["ours", "host"])


def reasons(world):
    """Why the patches of the library are off; empty for those that are on."""
    return {row.name: row.reason for row in world.wrapper.status() if row.name in {"subject.call", "subject.more"}}


NOT_ASKED_FOR = "telemetry=same: the instrumentation of subject is not loaded in this process"


@pytest.mark.parametrize("ours_first", [True, False])
def test_with_the_same_telemetry_ours_is_there_where_the_rival_would_be(world, ours_first):
    """In either order, and only while the rival is enabled; for what it instruments, and no more."""
    theirs = world.theirs()
    if not ours_first:
        theirs.instrument()
    world.ours(telemetry="same")
    if ours_first:
        assert world.call() == ["host"]
        assert reasons(world) == dict.fromkeys(["subject.call", "subject.more"], NOT_ASKED_FOR)
        theirs.instrument()

    if world.is_emulated:
        assert world.call() == ["ours", "host"]
        assert world.setup.is_same
        beyond = "telemetry=same: the stock instrumentation emits nothing for it"
        assert reasons(world) == {"subject.call": "", "subject.more": beyond}
    else:
        assert world.call() == ["rival", None, "host"]
    assert sys.modules["subject_library"].more() == ["host"]

    theirs.uninstrument()
    assert world.call() == ["host"]
    assert set(reasons(world).values()) == {NOT_ASKED_FOR}


@pytest.mark.parametrize("theirs_too", [True, False])
@pytest.mark.parametrize("mode", ["on", "defer", "off"])
def test_a_mode_of_a_library_comes_before_telemetry(world, mode, theirs_too):
    """Who sets it names the library: what it does follows from the mode alone."""
    found = []
    for telemetry in ("same", "full"):
        world.ours(mode, telemetry=telemetry)
        if theirs_too:
            world.theirs().instrument()
        found.append((world.call(), sys.modules["subject_library"].more(), reasons(world)))
        if theirs_too:
            world.theirs().uninstrument()
        world.wrapper.uninstall()
    assert found[0] == found[1]
    assert world.setup is None or not world.setup.is_same


STEPS = ("ours", "theirs")


@pytest.mark.parametrize("mode", ["", "on", "defer"])
@pytest.mark.parametrize("on", list(itertools.permutations(STEPS)))
@pytest.mark.parametrize("off", list(itertools.permutations(STEPS)))
def test_nothing_is_left(world, mode, on, off):
    """Whoever is taken off leaves the other; after both, everything is the very same object as before."""
    methods = vars(type(world.theirs())).copy()
    for who in on:
        if who == "ours":
            world.ours(mode)
        else:
            world.theirs().instrument(tracer_provider="their provider")
    for who in off:
        if who == "ours":
            world.wrapper.uninstall()
        else:
            world.theirs().uninstrument()
        if who is off[0]:
            expected = ["rival", "their provider", "host"] if who == "ours" else ["ours", "host"]
            assert world.call() == expected

    assert sys.modules["subject_library"].call is world.original
    assert {name: vars(type(world.theirs()))[name] for name in methods} == methods


def test_instrumented_again_it_is_the_same(world):
    """Several rounds of both."""
    for _ in range(3):
        world.theirs().instrument()
        world.ours("on")
        assert world.call() == ["ours", "host"]
        world.ours("defer")
        world.wrapper.uninstall()
        assert world.call() == ["rival", None, "host"]
        world.theirs().uninstrument()
        assert world.call() == ["host"]


def test_who_disables_the_rival_gets_no_spans(world):
    """OpenTelemetry's own switch; asked for by name, ours is on."""
    world.ours(disabled_instrumentations=frozenset({"subject-stock"}))
    assert world.call() == ["host"]
    assert {row.reason for row in world.wrapper.status()} == {
        "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS names subject-stock"
    }

    world.ours("on", disabled_instrumentations=frozenset({"subject-stock"}))
    assert world.call() == ["ours", "host"]


def test_the_status_says_who_stands_back(world):
    """And for whom."""
    world.theirs().instrument()
    world.ours("defer")

    (row,) = (row for row in world.wrapper.status() if row.name == "subject.call")
    assert (row.state.value, row.reason) == ("off", "it stands back for subject_rival:SubjectInstrumentor")
    world.theirs().uninstrument()


@pytest.mark.parametrize("mode", ["", "on"])
@pytest.mark.parametrize("kind", ["function", "wrapt"])
def test_a_wrapper_around_the_rivals_stays(world, mode, kind):
    """To take over would take that wrapper off, in the place of the rival's."""
    theirs = world.theirs()
    theirs.instrument()
    subject, inner = sys.modules["subject_library"], sys.modules["subject_library"].call

    @functools.wraps(inner)
    def vendors():
        return ["vendor", *inner()]

    if kind == "function":
        subject.call = vendors
    else:
        subject.call = wrapt.FunctionWrapper(inner, lambda wrapped, _self, _args, _kwargs: ["vendor", *wrapped()])
    world.ours(mode)
    reasons = {row.reason for row in world.wrapper.status() if row.name == "subject.call"}

    assert world.call() == ["vendor", "rival", None, "host"]
    assert reasons == {
        f"it stands back for subject_rival:SubjectInstrumentor, around which {__name__} has put a wrapper"
    }


@pytest.mark.parametrize("ours_first", [True, False])
def test_settings_are_read_where_ours_stands_back(world, ours_first):
    """What is not valid is told all the same."""
    read = []
    object.__setattr__(world.wrapper.library, "read", read.append)
    if not ours_first:
        world.theirs().instrument()
    config = Config(libraries={"subject": "defer", "subject_options": "length=5"})
    world.wrapper.install(config, config.off, {})
    if ours_first:
        world.theirs().instrument()

    assert [setup.options for setup in read] == ["length=5"]
    world.theirs().uninstrument()


@pytest.mark.parametrize("name", sorted({"asyncpg", "openai"} & {each.name for each in LIBRARIES.wrappers}))
def test_a_wrong_option_is_told_by_a_wrapper_that_stands_back(name, capfd):
    """Each wrapper names it."""
    library = next(library for library in LIBRARIES.wrappers if library.name == name)
    wrong_settings.forget()
    library.read(_library.Setup(options="no-such-option"))

    (line,) = wrong_settings.found()
    assert line.startswith(f"OTEL_FASTPATH_{name.upper()}_OPTIONS ({name}_options=): 'no-such-option' is not valid")
    wrong_settings.forget()
    capfd.readouterr()


def test_a_set_up_that_fails_is_one_line(world, logged, monkeypatch):
    """The library works."""
    monkeypatch.setattr(world, "_configure", None)
    object.__setattr__(world.wrapper.library, "configure", lambda _setup: 1 // 0)
    world.ours()

    assert world.call()[-1] == "host"
    assert logged() == ["The subject wrapper could not be set up completely."]


def test_the_instrumentor_hands_its_settings_on(instrumentor, monkeypatch):
    """Keywords and providers reach every wrapper, and off is off."""
    told = []

    class Wrapper:
        def install(self, settings, off, providers):
            told.append((settings.semconv, off("subject.call"), providers["tracer_provider"]))

        def uninstall(self):
            told.append("off")

        def status(self):
            return []

    part = Declarations("subject", "sys", wrapper="subject")
    part.load = lambda: None
    late = (LateInstallation(part, lambda _library: Wrapper()),)
    monkeypatch.setitem(vars(LIBRARIES), "installations", late)
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "database, http")
    instrumentor.instrument(tracer_provider="provider")
    instrumentor.uninstrument()

    assert told == [(frozenset({"database", "http"}), None, "provider"), "off"]
