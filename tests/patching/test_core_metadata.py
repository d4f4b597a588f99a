"""A field of the core metadata has the values that the email parser finds."""

from __future__ import annotations

import email
from importlib import metadata
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_fastpath.patching.core_metadata import read_field

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

    assert read_field(distribution(text), name) == ([] if any("\n" in each for each in parsed) else parsed)


@pytest.mark.parametrize("name", sorted({each.metadata["Name"] for each in metadata.distributions()}))
def test_the_installed_distributions_have_the_same_fields(name):
    """As `importlib.metadata` says."""
    found = metadata.distribution(name)
    for field in FIELDS:
        assert read_field(found, field) == (found.metadata.get_all(field) or [])


@pytest.mark.parametrize(
    ("found", "expected"),
    [(distribution("Version: 1\n", "PKG-INFO"), ["1"]), (distribution(""), []), (distribution(None), [])],
)
def test_other_files(found, expected):
    """An egg has PKG-INFO; a folder may have nothing."""
    assert read_field(found, "Version") == expected
