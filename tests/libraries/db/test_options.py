"""What the wrapper of a database can be told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from otel_fastpath.libraries.db.options import Options, parse


@dataclass(frozen=True)
class Own(Options):
    """Those of a library that has one more."""

    reset: bool = False

    names: ClassVar = {**Options.names, "reset": ("reset", True)}


def test_nothing_is_asked_for(logged):
    """The defaults hold, and nothing is told."""
    assert parse("subject", "", Options) == Options()
    assert logged() == []


@pytest.mark.parametrize("name", Options.names)
@pytest.mark.parametrize("kind", [Options, Own])
def test_each_name_sets_its_attribute(logged, name, kind):
    """To something else than the default, in either case of letters."""
    attribute, value = Options.names[name]

    assert getattr(Options(), attribute) is not value
    assert parse("subject", f" {name.upper()} ,", kind) == kind(**{attribute: value})
    assert parse("subject", [name], kind) == kind(**{attribute: value})
    assert logged() == []


def test_a_library_can_have_more(logged):
    """In a class of its own; to others it is unknown, which is one line, and the rest holds."""
    assert parse("subject", "reset,rows", Own) == Own(reset=True, rows=True)
    assert logged() == []

    assert parse("subject", "reset,rows", Options) == Options(rows=True)
    (line,) = logged()
    assert line.startswith(
        "OTEL_FASTPATH_SUBJECT_OPTIONS (subject_options=): 'reset' is not valid; expected any of no-"
    )
