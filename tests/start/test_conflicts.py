"""OpenTelemetry finds the same conflicts, and no metadata is parsed for them."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata

import pytest
from opentelemetry.instrumentation import dependencies
from opentelemetry.instrumentation.auto_instrumentation import _load

from otel_fastpath.start import conflicts

INSTRUMENTATIONS = sorted(metadata.entry_points(group="opentelemetry_instrumentor"))
CHECK = dependencies.get_dist_dependency_conflicts


@pytest.fixture
def placed():
    """The replacements are in place."""
    swaps = conflicts.replace_readers()
    assert len(swaps) == (2 if dependencies.version is conflicts.read_version else 1)
    yield
    for swap in swaps:
        swap.take_off()
    assert _load.get_dist_dependency_conflicts is CHECK


def write(folder, name, text):
    """A distribution's metadata."""
    place = folder / f"{name}-1.0.dist-info"
    place.mkdir()
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\n{text}\n\nVersion: 9\n")
    return metadata.Distribution.at(place)


REQUIREMENTS = {
    "nothing": "Version: 1.0",
    "met": "Version: 1.0\nRequires-Dist: pytest>=1; extra == 'instruments'",
    "unmet": "Version: 1.0\nRequires-Dist: pytest<1; extra == 'instruments'",
    "missing": "Version: 1.0\nRequires-Dist: no-such-library; extra == 'instruments'",
    "any": "Version: 1.0\nRequires-Dist: pytest<1; extra == 'instruments-any'\n"
    "Requires-Dist: pytest; extra == 'instruments-any'",
    "none of any": "Version: 1.0\nRequires-Dist: pytest<1; extra == 'instruments-any'",
    "folded": "Version: 1.0\nRequires-Dist: pytest<1;\n extra == 'instruments'",
}


def outcome(check, distribution):
    """What a check says."""
    try:
        conflict = check(distribution)
    except Exception as error:
        return type(error), str(error)
    return conflict and str(conflict)


@pytest.mark.usefixtures("placed")
@pytest.mark.parametrize("name", REQUIREMENTS)
def test_the_conflicts_are_the_same(tmp_path, name):
    """Requirements of every kind."""
    distribution = write(tmp_path, "subject", REQUIREMENTS[name])

    assert outcome(_load.get_dist_dependency_conflicts, distribution) == outcome(CHECK, distribution)


@pytest.mark.usefixtures("placed")
@pytest.mark.parametrize("each", INSTRUMENTATIONS, ids=lambda each: each.name)
def test_the_installed_instrumentations_have_the_same_conflicts(each):
    """With what is installed here."""
    assert outcome(_load.get_dist_dependency_conflicts, each.dist) == outcome(CHECK, each.dist)


class Custom(metadata.Distribution):
    """A distribution of a package manager's, whose metadata are somewhere else."""

    requires = ("pytest<1; extra == 'instruments'",)

    def read_text(self, _filename):
        """Of no use here."""
        return "Version: 1.0\n"

    def locate_file(self, path):
        """Nowhere."""
        return path


@pytest.mark.usefixtures("placed")
@pytest.mark.parametrize("distribution", [Custom(), None])
def test_what_else_is_a_distribution_is_asked_itself(distribution):
    """Its class may read the metadata in another way; where none is found, it fails as before."""
    assert outcome(_load.get_dist_dependency_conflicts, distribution) == outcome(CHECK, distribution)


@pytest.mark.parametrize("name", ["pytest", "OpenTelemetry_API", "no-such-library"])
def test_versions_are_those_of_importlib(name):
    """Or there is none."""
    try:
        expected = metadata.version(name)
    except metadata.PackageNotFoundError as error:
        with pytest.raises(metadata.PackageNotFoundError, match=str(error)):
            conflicts.read_version(name)
    else:
        assert conflicts.read_version(name) == expected


def test_another_replacement_stays(monkeypatch):
    """Of the check: a vendor's."""
    monkeypatch.setattr(_load, "get_dist_dependency_conflicts", lambda _distribution: None)
    swaps = conflicts.replace_readers()
    assert all(swap.owner is not _load for swap in swaps)
    for swap in swaps:
        swap.take_off()


PARSES = """
import importlib.metadata as metadata
def fail(self):
    raise AssertionError("METADATA is parsed")
metadata.Distribution.metadata = property(fail)
import opentelemetry.instrumentation.auto_instrumentation.sitecustomize
"""


def test_no_metadata_is_parsed_at_the_start(monkeypatch):
    """By `opentelemetry-instrument`, with the instrumentations that are installed here."""
    for signal in ("TRACES", "METRICS", "LOGS"):
        monkeypatch.setenv(f"OTEL_{signal}_EXPORTER", "none")
    result = subprocess.run([sys.executable, "-c", PARSES], capture_output=True, text=True, check=True, timeout=120)

    assert "METADATA is parsed" not in result.stderr
