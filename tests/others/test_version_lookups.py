"""Version lookups of real instrumentations, each in an environment of its own: stock beside us."""

from __future__ import annotations

import functools
import itertools
import json
import re
import subprocess
import sys
from collections import Counter
from importlib import metadata
from pathlib import Path

import pytest
from opentelemetry.instrumentation import _semconv
from opentelemetry.instrumentation._semconv import _OpenTelemetryStabilitySignalType as Signal
from packaging import version as packaging_version
from packaging.requirements import Requirement

from otel_fastpath.others import patches_version_lookups
from otel_fastpath.others.patches_version_lookups import LOOKUP, LOOKUPS, PARSER, PATCHES
from otel_fastpath.patching.patch import SkipError
from otel_fastpath.settings import Config

sys.path.insert(0, str(Path(__file__).parents[2]))

from examples.demo.processes import Interrupts, clean_environment, running
from examples.demo.services import start_server
from examples.founding_case.environment import provide

PROBES = Path(__file__).with_name("version_lookups")
RELEASE = metadata.version("opentelemetry-instrumentation")
# What the model's server makes up anew for each answer.
_IDS = re.compile(r"(call_|chatcmpl-)[0-9a-f]+")
ENVIRONMENTS = {
    "openai-1.60": ("importlib.metadata.version", {"versions.openai", "versions.openai.pydantic"}),
    "openai-recent": ("packaging.version.parse", {"versions.openai.parse"}),
}
# Each of a round's calls asks more than once, and a streamed chunk once or twice.
FEWEST_QUESTIONS = 100
NEIGHBOURS_CALLS = 3


@pytest.fixture(scope="module")
def base_url(tmp_path_factory):
    """A model's server on loopback."""
    with running(tmp_path_factory.mktemp("logs"), Interrupts()) as processes:
        yield f"{start_server(processes, 'openai_server')}/v1"


@functools.cache
def run(environment, probe, *arguments):
    """What a probe prints in an environment."""
    command = [str(provide(environment) / "python"), str(PROBES / probe), *arguments]
    done = subprocess.run(command, env=clean_environment({}), capture_output=True, text=True, check=False, timeout=180)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return json.loads(_IDS.sub(r"\1...", done.stdout))


@pytest.fixture(scope="module", params=["openai-recent", pytest.param("openai-1.60", marks=pytest.mark.slow)])
def environment(request):
    """Each client with its instrumentation."""
    return request.param


@pytest.fixture(scope="module")
def stock(environment, base_url):
    """What the instrumentation does by itself."""
    return run(environment, "openai_calls.py", base_url, "stock")


@pytest.fixture(
    scope="module", params=["first", *(pytest.param(when, marks=pytest.mark.slow) for when in ("last", "again"))]
)
def ours(environment, base_url, request):
    """What it does with us: instrumented before it was imported, after everything, and a second time."""
    return run(environment, "openai_calls.py", base_url, request.param)


def test_stock_looks_up_at_every_call(environment, stock):
    """The founding case is there: without us there are a hundred lookups or parses in a round of calls."""
    counted, _ = ENVIRONMENTS[environment]

    assert stock["calls"][counted] >= FEWEST_QUESTIONS


def test_no_lookup_is_left(ours):
    """With us no call and no chunk makes any lookup of importlib.metadata or parse of packaging."""
    assert ours["calls"] == {}


def test_each_version_is_looked_up_once(environment, ours):
    """The first calls look up or parse each of the two versions that are asked for, unless instrumenting did so."""
    counted, _ = ENVIRONMENTS[environment]

    assert ours["first_calls"].get(counted, 0) <= 2


def test_the_right_patches_are_applied(environment, ours):
    """The patches of this release are applied, those of others are left off with the release as the reason."""
    _, wanted = ENVIRONMENTS[environment]
    states = {name: state for name, (state, _) in ours["patches"].items() if name.startswith("versions.openai")}

    assert {name for name, state in states.items() if state == "applied"} == wanted
    assert {state for name, state in states.items() if name not in wanted} == {"skipped"}


@pytest.mark.proves("versions.openai", "versions.openai.pydantic", "versions.openai.parse")
def test_spans_and_metrics_are_those_of_stock(stock, ours):
    """Every span with its attributes and events, and every series of metrics, is as without us."""
    assert stock["spans"]
    assert stock["metrics"]
    assert (ours["spans"], ours["metrics"]) == (stock["spans"], stock["metrics"])


def test_the_application_sees_the_original(stock, ours):
    """The application's importlib.metadata.version and packaging.version.parse are the very originals, all the time."""
    assert stock["application"]
    assert ours["application"]


def test_uninstrument_restores_the_very_objects(stock, ours):
    """After `uninstrument` the instrumentation's globals are the originals, and it looks up as much as before."""
    assert ours["restored"]
    assert all(ours["restored"].values())
    assert ours["calls_after"] == stock["calls"]


@pytest.mark.slow
@pytest.mark.proves("versions.groq.pydantic", "versions.dbapi")
def test_neighbours():
    """Other instrumentations of the table get the same answers with no lookup per call."""
    stock, ours = (run("neighbours", "neighbours.py", mode) for mode in ("stock", "fastpath"))

    assert stock["dbapi_calls"]["importlib.metadata.version"] == NEIGHBOURS_CALLS
    assert stock["groq_calls"]["importlib.metadata.version"] == NEIGHBOURS_CALLS
    assert (ours["dbapi_calls"], ours["groq_calls"]) == ({}, {})
    assert (ours["dbapi"], ours["groq"]) == (stock["dbapi"], stock["groq"])


@pytest.mark.proves("versions.schema_url")
@pytest.mark.parametrize("mode", list(_semconv._StabilityMode))
def test_schema_urls_are_those_of_stock(instrumentor, monkeypatch, mode):
    """Of any signals, in any order, whatever was opted into."""
    (lookup,) = [lookup for lookup in LOOKUPS if lookup.name == "versions.schema_url"]
    if not Requirement(lookup.requires).specifier.contains(RELEASE, prereleases=True):
        pytest.skip(f"{RELEASE} does not look versions up for this")
    modes = dict.fromkeys(Signal, mode)
    monkeypatch.setattr(
        _semconv._OpenTelemetrySemanticConventionStability, "_OTEL_SEMCONV_STABILITY_SIGNAL_MAPPING", modes
    )
    every = [list(signals) for number in range(len(Signal) + 1) for signals in itertools.permutations(Signal, number)]
    stock = [_semconv._get_schema_url_for_signal_types(signals) for signals in every]
    instrumentor.instrument()

    (row,) = [row for row in instrumentor.status() if row.name == lookup.name]
    assert row.state.value == "applied"
    for _ in range(2):
        assert [_semconv._get_schema_url_for_signal_types(signals) for signals in every] == stock


def test_every_caller_was_read():
    """No row waits for fingerprints that nobody took, and each was taken in a release that the row is for."""
    known = patches_version_lookups.KNOWN.places()

    assert set(known) == {f"{row.module}:{caller}" for row in LOOKUPS for caller in row.callers}
    for row, patch in zip(LOOKUPS, PATCHES, strict=True):
        specifier = Requirement(row.requires).specifier
        for caller in row.callers:
            texts = [text for found in known[f"{row.module}:{caller}"].values() for text in found.values()]
            releases = " ".join(texts).split()
            assert any(specifier.contains(release, prereleases=True) for release in releases)
        assert all(patch.sources.values())


def test_the_table_has_no_two_rows_of_a_name():
    """Settings and status name a row by its name alone."""
    assert Counter(row.name for row in LOOKUPS).most_common(1)[0][1] == 1


def test_another_function_in_its_place_is_left_alone():
    """A name that somebody bound to something else is not replaced."""
    with pytest.raises(SkipError, match=r"not importlib\.metadata\.version"):
        LOOKUP.make(lambda name: name, Config())
    with pytest.raises(SkipError, match=r"not the module packaging\.version"):
        PARSER.make(metadata, Config())


def test_the_backport_is_recognised(monkeypatch):
    """`importlib_metadata.version`, which OpenTelemetry's API used before 1.42, is a lookup that we answer."""

    class Backport:
        @staticmethod
        def version(name):
            return f"{name} 1.0"

    monkeypatch.setitem(sys.modules, "importlib_metadata", Backport)

    assert LOOKUP.make(Backport.version, Config())("a") == "a 1.0"


def test_the_parser_is_the_module_but_remembers():
    """Versions that were parsed are given again, what is no version raises each time, the rest is the original's."""
    module = PARSER.make(packaging_version, Config())

    assert module.parse("1.0") is module.parse("1.0")
    assert module.Version("1.0") is module.Version("1.0")
    assert module.parse("1.0") == packaging_version.parse("1.0")
    for _ in range(2):
        with pytest.raises(packaging_version.InvalidVersion):
            module.parse("none")
    assert module.InvalidVersion is packaging_version.InvalidVersion
    with pytest.raises(AttributeError):
        module.no_such_name  # noqa: B018  # its look-up is what is tested
