"""The facts about the interpreter and the installed distributions are right."""

from __future__ import annotations

import email
import sys
import sysconfig
from importlib import metadata
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_fastpath.patching import interpreter


def test_the_build_of_the_interpreter_is_known():
    """A build without the GIL is told by what Python itself was configured with."""
    assert bool(sysconfig.get_config_var("Py_GIL_DISABLED")) == interpreter.FREE_THREADED
    assert (sys.implementation.name == "cpython") == interpreter.CPYTHON


def test_the_core_is_allowed_where_it_was_written_for():
    """There is a reason against the core exactly where it is not CPython; its free-threaded builds run it."""
    assert bool(interpreter.WHY_NO_CORE) == (not interpreter.CPYTHON)


@pytest.mark.parametrize("name", ["opentelemetry-api", "opentelemetry_sdk", "OTEL-Fastpath", "pytest", "packaging"])
def test_versions_are_those_of_importlib(name):
    """However a name is written, the answer is that of importlib.metadata."""
    assert interpreter.version(name) == metadata.version(name)


def test_what_is_not_installed_has_no_version():
    """None, and no exception."""
    assert interpreter.version("opentelemetry-nowhere") is None
    assert interpreter.installed("opentelemetry-nowhere") == ()


def write_metadata(folder, name, version, text=None):
    """A distribution's metadata folder."""
    place = folder / f"{name}-{version}.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nVersion: 9\n" if text is None else text
    )


def test_every_version_on_the_path_is_found(tmp_path, monkeypatch):
    """Two versions in two folders are both told, in the order of sys.path; the same twice counts once."""
    write_metadata(tmp_path / "a", "twice", "1.0")
    write_metadata(tmp_path / "b", "twice", "2.0b1")
    write_metadata(tmp_path / "c", "twice", "1.0")
    for folder in "cba":
        monkeypatch.syspath_prepend(tmp_path / folder)

    found = interpreter.installed("twice")

    assert found == (("1.0", str(tmp_path / "a")), ("2.0b1", str(tmp_path / "b")))


def test_two_metadata_folders_side_by_side_are_both_found(tmp_path, monkeypatch):
    """An upgrade that left the old metadata behind is not hidden."""
    for version in ("1.0", "2.0"):
        write_metadata(tmp_path, "twice", version)
    monkeypatch.syspath_prepend(tmp_path)

    assert {each.version for each in interpreter.installed("twice")} == {"1.0", "2.0"}


def test_broken_metadata_count_as_nothing(tmp_path, monkeypatch):
    """A folder without a version is none that a requirement could be held against."""
    write_metadata(tmp_path, "broken", "1.0", text="Name: broken\n\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(tmp_path)

    assert interpreter.installed("broken") == ()


FIELDS = ("Name", "Version", "Requires-Dist")


def distribution(text, file="METADATA"):
    """One with this metadata."""
    return SimpleNamespace(read_text={file: text}.get)


LINES = st.one_of(
    st.builds(
        "{}{}{}".format,
        st.sampled_from([*FIELDS, "requires-dist", "VERSION", "Classifier", "Requires Dist", "Name\t", "Näme", ""]),
        st.sampled_from([":", ": ", ":\t ", ""]),
        st.sampled_from(["", "redis>=2.6; extra == 'instruments'", "1.0 ", "é", "a: b", "x\x0b\x0cy", "\u2028"]),
    ),
    st.sampled_from(["", " continued", "\tcontinued", "no field", "x:", "Description: of\n        many lines"]),
)


@given(st.lists(LINES, max_size=8), st.sampled_from(FIELDS))
def test_the_values_are_those_of_the_email_parser(lines, name):
    """What is longer than a line is left to it."""
    text = "\n".join(["Metadata-Version: 2.1", *lines, "", "Version: of the description"])
    parsed = email.message_from_string(text).get_all(name) or []

    assert interpreter.read_field(distribution(text), name) == ([] if any("\n" in each for each in parsed) else parsed)


@pytest.mark.parametrize("name", sorted({each.metadata["Name"] for each in metadata.distributions()}))
def test_the_installed_distributions_have_the_same_fields(name):
    """As `importlib.metadata` says."""
    found = metadata.distribution(name)
    for field in FIELDS:
        assert interpreter.read_field(found, field) == (found.metadata.get_all(field) or [])


@pytest.mark.parametrize(
    ("found", "expected"),
    [(distribution("Version: 1\n", "PKG-INFO"), ["1"]), (distribution(""), []), (distribution(None), [])],
)
def test_other_files(found, expected):
    """An egg has PKG-INFO; a folder may have nothing."""
    assert interpreter.read_field(found, "Version") == expected
