"""Versions are looked up once, and everything else is as importlib.metadata has it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from threading import Barrier

import pytest

from otel_fastpath import versions


@pytest.fixture(autouse=True)
def _forget():
    versions.clear()
    yield
    versions.clear()


class Counted:
    """A lookup that counts and answers from a list, the last answer for ever."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.calls = []

    def __call__(self, name):
        """Give the next answer."""
        self.calls.append(name)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def outcome(lookup, name):
    """What a lookup does with a name: its answer, or the exception's type and arguments."""
    try:
        return lookup(name)
    except Exception as error:  # whichever it is
        return type(error), error.args


@pytest.mark.parametrize("name", ["pytest", "PyTest", "opentelemetry_sdk", "no-such-distribution", "", None, [], ["a"]])
def test_answers_and_exceptions_are_those_of_importlib(name):
    """Whatever the name is, the outcome is importlib's, the first time and later."""
    expected = outcome(metadata.version, name)

    assert [outcome(versions.version, name) for _ in range(3)] == [expected] * 3


def test_exceptions_come_without_ours_before_them():
    """A traceback shows importlib's exception alone, and not that the memory had no answer."""
    with pytest.raises(metadata.PackageNotFoundError) as raised:
        versions.version("no-such-distribution")

    assert not isinstance(raised.value.__context__, KeyError)


def test_a_version_is_looked_up_once():
    """Only the first question reaches the lookup."""
    lookup = Counted("1.0", "2.0")
    version = versions.once(lookup)

    assert [version("a") for _ in range(3)] == ["1.0"] * 3
    assert lookup.calls == ["a"]


def test_functions_of_one_lookup_share_what_they_know():
    """Each function is one of its own, so that a patch may exchange its code, but they remember together."""
    lookup = Counted("1.0", "2.0")
    first, second = versions.once(lookup), versions.once(lookup)

    assert first is not second
    assert (first("a"), second("a")) == ("1.0", "1.0")


def test_lookups_do_not_mix():
    """Two ways of looking up do not answer for each other."""
    first, second = versions.once(Counted("1.0")), versions.once(Counted("2.0"))

    assert (first("a"), second("a")) == ("1.0", "2.0")


def test_what_was_not_found_is_looked_for_again(tmp_path, monkeypatch):
    """A distribution that is installed after the first question is found by the next."""
    with pytest.raises(metadata.PackageNotFoundError):
        versions.version("comes-later")
    info = tmp_path / "comes_later-3.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: comes-later\nVersion: 3.1\n")
    monkeypatch.syspath_prepend(tmp_path)

    assert versions.version("comes-later") == "3.1"


def test_metadata_without_a_version_are_read_again():
    """None, which importlib gives for metadata that are cut short, is no version to remember."""
    version = versions.once(Counted(None, "1.0"))

    assert [version("a"), version("a")] == [None, "1.0"]


def test_clear_forgets():
    """After `clear` each version is looked up again."""
    version = versions.once(Counted("1.0", "2.0"))
    assert version("a") == "1.0"

    versions.clear()

    assert version("a") == "2.0"


def test_clear_also_forgets_what_is_being_looked_up():
    """An answer that was under way when `clear` was called is given, but not kept."""
    answers = iter(["old", "new"])

    def lookup(_name):
        answer = next(answers)
        if answer == "old":
            versions.clear()
        return answer

    version = versions.once(lookup)

    assert [version("a"), version("a"), versions.once(lookup)("a")] == ["old", "new", "new"]


def test_threads_get_one_answer():
    """Threads that ask at the same moment all get the same object."""
    count = 8
    start, meet = Barrier(count), Barrier(count)

    def lookup(_name):
        meet.wait(60)
        return str(object())

    version = versions.once(lookup)

    def ask(_):
        start.wait(60)
        return version("a")

    with ThreadPoolExecutor(count) as pool:
        assert len({id(answer) for answer in pool.map(ask, range(count))}) == 1


def test_it_looks_like_the_original():
    """Name, documentation and signature are importlib's own."""
    assert versions.version.__name__ == metadata.version.__name__
    assert versions.version.__doc__ == metadata.version.__doc__
    assert versions.version("pytest") == versions.version(distribution_name="pytest")
