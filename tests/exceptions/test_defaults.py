"""OTEL_FASTPATH_EXCEPTIONS* and the keywords of `instrument`."""

from __future__ import annotations

import pytest
from odd_values import ODD, ODD_IDS

from otel_fastpath import settings as config
from otel_fastpath.exceptions import Settings
from otel_fastpath.exceptions.defaults import LIMIT, SKIPPED
from otel_fastpath.exceptions.register import FEATURE


def parsed(environ=None, /, *, loads_all=None, **keywords):
    """The settings of a process with these variables and arguments."""
    found = config.from_env(environ or {}, (), FEATURE.settings, **keywords)
    assert loads_all is None or found.loads_all == loads_all
    return Settings.parse(*found.features.values())


def test_nothing_is_set():
    """By default what is raised is counted, in no detail."""
    assert parsed() == Settings()
    assert not parsed().asked


@pytest.mark.parametrize(
    ("value", "settings"),
    [
        ("off", Settings(mode="off", asked=True)),
        ("raised", Settings(asked=True)),
        ("handled", Settings(mode="handled", asked=True)),
        ("handled,code", Settings(mode="handled", asked=True, code=True)),
        (" code , operations,python ", Settings(asked=True, code=True, operations=True, python=True)),
    ],
)
def test_one_variable_says_what_is_counted(value, settings):
    """A mode, and what to count besides."""
    assert parsed(exceptions=value) == settings


def test_words_that_mean_nothing_are_reported(logged):
    """A misspelt word is one line that names the words there are; the others hold."""
    assert parsed(exceptions="handeld,code") == Settings(asked=True, code=True)
    (line,) = logged()
    assert "'handeld' is not valid; expected any of off, raised, handled, code, operations, python" in line
    assert "nearest: handled, " in line


@pytest.mark.parametrize(
    ("value", "skip"),
    [
        ("", SKIPPED),
        ("KeyError", {"KeyError"}),
        ("default,app.errors.NotFound", SKIPPED | {"app.errors.NotFound"}),
        ("none", frozenset()),
    ],
)
def test_the_types_to_skip(value, skip):
    """A list takes the default's place, or adds to it."""
    assert parsed(exceptions_skip=value).skip == skip


@pytest.mark.parametrize(("value", "limit"), [("", LIMIT), ("50", 50), ("0", LIMIT), ("1000000", LIMIT), ("x", LIMIT)])
def test_the_limit(value, limit, logged):
    """A number that cannot be is reported, and the default holds."""
    assert parsed(exceptions_limit=value).limit == limit
    assert len(logged()) == (value in {"0", "1000000", "x"})


def test_modules():
    """Modules are a list of names."""
    assert parsed(exceptions_modules="mine, shop").modules == ("mine", "shop")


def test_keywords_come_before_variables(logged):
    """`instrument(exceptions=..., exceptions_skip=[...])` says the same, and lists may be lists."""
    found = parsed(
        {"OTEL_FASTPATH_EXCEPTIONS": "off"},
        exceptions=["handled", "code"],
        exceptions_skip={"KeyError"},
        exceptions_modules=("mine",),
        exceptions_limit=7,
    )
    assert found == Settings(
        mode="handled", asked=True, code=True, skip=frozenset({"KeyError"}), modules=("mine",), limit=7
    )
    assert logged() == []


@pytest.mark.parametrize(("value", "number"), [(5, 1), ([1, 2], 2), (object(), 1)])
def test_no_value_raises(value, number, logged):
    """What is no list of names is reported and ignored, each part of it by itself."""
    assert Settings.parse(value, value, value, None) == Settings()
    assert len(logged()) == 3 * number


def test_names_beside_a_value_of_another_kind_hold(logged):
    """A list with a part that is no name is used without that part."""
    assert Settings.parse(["code", 3], ["KeyError", None]) == Settings(
        asked=True, code=True, skip=frozenset({"KeyError"})
    )
    assert len(logged()) == 2


@pytest.mark.parametrize("value", ODD, ids=ODD_IDS)
def test_a_value_of_any_class_is_ignored_alone(logged, value):
    """Also one that cannot be compared, or asked whether it is true."""
    found = parsed(loads_all=True, exceptions=value, exceptions_limit=value)
    assert (found.mode, found.limit) == (Settings().mode, Settings().limit)
    assert len(logged()) == 2
