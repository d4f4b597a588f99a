"""Which lines programs execute."""

from __future__ import annotations

import threading

from otel_fastpath.tools.prove.reach import Reach


def _either(value):
    if value:
        return [each for each in "ab"]  # noqa: C416  # code of its own on Python 3.10 and 3.11
    return None


def _other():
    return 1


def test_lines_and_programs():
    """Also of other threads; a function may have two places."""
    reach = Reach({"m:either": [_either.__code__], "n:either": [_either.__code__], "m:other": [_other.__code__]})
    first = _either.__code__.co_firstlineno

    def in_thread():
        thread = threading.Thread(target=_either, args=(0,))
        thread.start()
        thread.join()
        return ""

    assert reach.missed(["one"])["m:either"] == [first + 1, first + 2, first + 3]
    assert reach.during("one", lambda: str(_either(1))) == "['a', 'b']"
    assert reach.missed(["one", "two"])["n:either"] == [first + 3]
    reach.during("two", in_thread)
    other = [_other.__code__.co_firstlineno + 1]
    assert reach.missed(["one", "two"]) == {"m:either": [], "n:either": [], "m:other": other}
    assert reach.missed(["two"])["m:either"] == [first + 2]
    assert reach.programs == {"m:either": {"one", "two"}, "n:either": {"one", "two"}, "m:other": set()}
    _other()
    assert reach.programs["m:other"] == set()
