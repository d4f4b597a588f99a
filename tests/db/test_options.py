"""What the wrapper of a database can be told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from otel_fastpath.db.options import DatabaseOptions, parse


@dataclass(frozen=True)
class Own(DatabaseOptions):
    """Those of a library that has one more."""

    reset: bool = False

    names: ClassVar = {**DatabaseOptions.names, "reset": ("reset", True)}


def test_nothing_is_asked_for(logged):
    """The defaults hold, and nothing is told."""
    assert parse("subject", "", DatabaseOptions) == DatabaseOptions()
    assert logged() == []


@pytest.mark.parametrize("name", DatabaseOptions.names)
@pytest.mark.parametrize("kind", [DatabaseOptions, Own])
def test_each_name_sets_its_attribute(logged, name, kind):
    """To something else than the default, in either case of letters."""
    attribute, value = DatabaseOptions.names[name]

    assert getattr(DatabaseOptions(), attribute) is not value
    assert parse("subject", f" {name.upper()} ,", kind) == kind(**{attribute: value})
    assert parse("subject", [name], kind) == kind(**{attribute: value})
    assert logged() == []


def test_a_library_can_have_more(logged):
    """In a class of its own; to others it is unknown, which is one line, and the rest holds."""
    assert parse("subject", "reset,rows", Own) == Own(reset=True, rows=True)
    assert logged() == []

    assert parse("subject", "reset,rows", DatabaseOptions) == DatabaseOptions(rows=True)
    (line,) = logged()
    assert line.startswith(
        "OTEL_FASTPATH_SUBJECT_OPTIONS (subject_options=): 'reset' is not valid; expected any of no-"
    )


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("500ms", 0.5), ("2s", 2), ("1.5S", 1.5), ("250us", 0.00025), ("1m", 60), (" 1s ", 1)],
)
def test_a_threshold_is_a_duration(logged, text, seconds):
    """In any of the units; spaces and the case of letters do not matter."""
    assert parse("subject", f"rows,Slow={text}", DatabaseOptions) == DatabaseOptions(rows=True, slow=seconds)
    assert logged() == []


@pytest.mark.parametrize(
    "option", ["slow", "slow=", "slow=fast", "slow=0.5", "slow=0ms", "slow=-1s", "slow=1 h", "slow=٣s"]
)
def test_a_wrong_threshold_is_one_line(logged, option):
    """It names the value, and what was expected; the other options hold."""
    assert parse("subject", [option, "rows"], DatabaseOptions) == DatabaseOptions(rows=True)
    (line,) = logged()
    assert line == (
        f"OTEL_FASTPATH_SUBJECT_OPTIONS (subject_options=): {option!r} is not valid; "
        "expected slow=DURATION, such as slow=500ms or slow=2s. It is ignored."
    )


def test_repetitions_have_a_default(logged):
    """Or a number."""
    assert parse("subject", "repeats", DatabaseOptions) == DatabaseOptions(repeats=10)
    assert parse("subject", "repeats=2", DatabaseOptions) == DatabaseOptions(repeats=2)
    assert logged() == []


@pytest.mark.parametrize(
    "option", ["repeats=", "repeats=1", "repeats=0", "repeats=-3", "repeats=many", "repeats=" + "9" * 5000]
)
def test_a_wrong_number_of_repetitions_is_one_line(logged, option):
    """Likewise."""
    assert parse("subject", f"rows,{option}", DatabaseOptions) == DatabaseOptions(rows=True)
    (line,) = logged()
    assert line.endswith("is not valid; expected repeats=NUMBER of at least 2, or repeats for 10. It is ignored.")


def test_a_value_where_none_is_expected_is_one_line(logged):
    """The option is not one of those that have a value."""
    assert parse("subject", "rows=5", DatabaseOptions) == DatabaseOptions()
    (line,) = logged()
    assert "'rows=5' is not valid; expected any of " in line
