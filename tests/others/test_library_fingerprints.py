"""New releases are added to a file of sources; what was left out of it stays out."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "upstream"))

import library_fingerprints
from harness import known, released

from otel_fastpath.features import FEATURES

PLACE, OTHER = "fastapi.routing:find", "fastapi.routing:other"


@pytest.fixture
def release(tmp_path, monkeypatch):
    """Makes releases of FastAPI, each with the functions `find` and `other` that return these values."""
    made: list[str] = []

    def make(version, find, other=0):
        made.append(version)
        package = tmp_path / version / "fastapi"
        package.mkdir(parents=True)
        functions = (f"def {name}():\n    return {value}\n" for name, value in (("find", find), ("other", other)))
        (package / "routing.py").write_text("\n\n".join(functions))

    monkeypatch.setattr(released, "versions", lambda _name, oldest, **_more: made[made.index(oldest) :])
    monkeypatch.setattr(released, "wheel", lambda _name, version: tmp_path / version)
    return make


@pytest.fixture
def run(tmp_path):
    """Runs the program, and returns place -> releases of each of its sources."""
    file = tmp_path / "sources.json"

    def run(*arguments):
        assert library_fingerprints.main([str(file), *arguments]) == 0
        found = json.loads(file.read_text())
        return {place: [of for texts in each.values() for of in texts.values()] for place, each in found.items()}

    run.file = file
    return run


def test_new_releases_are_added(release, run, capsys):
    """The difference to the release before is printed."""
    release("1.0", 1)
    release("1.1", 1)
    assert run(PLACE, "--oldest", "1.0") == {PLACE: ["1.0 1.1"]}
    release("1.2", 2)
    release("1.3", 2)

    assert sorted(run()[PLACE]) == ["1.0 1.1", "1.2 1.3"]

    printed = capsys.readouterr().out
    assert printed.count(f"{PLACE} in 1.2") == 1
    assert "-    return 1\n+    return 2" in printed
    assert f"{PLACE} in 1.3" not in printed


def test_what_was_left_out_stays_out(release, run):
    """A source was taken out of the file; the release is in it for another one."""
    for version, value in (("1.0", 1), ("1.1", 2), ("1.2", 1)):
        release(version, value)
    run(PLACE, OTHER, "--oldest", "1.0")
    found = known.load(run.file)
    left_out = next(each for each, texts in found[PLACE].items() if "1.1" in texts.values())
    del found[PLACE][left_out]
    known.write(run.file, found)

    assert run() == {PLACE: ["1.0 1.2"], OTHER: ["1.0 1.1 1.2"]}


def test_a_named_source_is_read_in_each_release(release, run):
    """From the first release on that the file has of its distribution."""
    for version in ("0.9", "1.0", "1.1"):
        release(version, 1)
    run(PLACE, "--oldest", "1.0")

    assert run(OTHER) == {PLACE: ["1.0 1.1"], OTHER: ["1.0 1.1"]}


def test_a_source_that_is_nowhere_is_told(release, run, capsys):
    """The exit status and a line say so; what a new release has no more is a line only."""
    release("1.0", 1)
    assert library_fingerprints.main([str(run.file), PLACE, "fastapi.routing:nowhere", "--oldest", "1.0"]) == 1
    assert "found in no release: fastapi.routing:nowhere" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("opentelemetry.instrumentation.aiohttp_client", "opentelemetry-instrumentation-aiohttp-client"),
        ("opentelemetry.instrumentation.django.middleware.otel_middleware", "opentelemetry-instrumentation-django"),
        ("opentelemetry.instrumentation.utils", "opentelemetry-instrumentation"),
        ("opentelemetry.util.http.httplib", "opentelemetry-util-http"),
        ("fastapi.telemetry._api", "fastapi"),
    ],
)
def test_the_distribution_of_a_module(module, expected):
    """It follows from the name."""
    assert library_fingerprints.distribution(f"{module}:name") == expected


def test_each_source_of_a_patch_is_in_its_file():
    """Without one, the patch would be skipped everywhere."""
    patches = [patch for feature in FEATURES for patch in feature.all_patches()]
    assert not [(patch.name, place) for patch in patches for place, found in patch.sources.items() if not found]
