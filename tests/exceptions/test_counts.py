"""What is counted, under which name, and where."""

from __future__ import annotations

import contextlib
import gc
import json
import sys
from pathlib import Path

import pytest

CORES = (None, "py")


@pytest.fixture(params=CORES, ids=["compiled", "python"])
def begin(request, start):
    """Start counting, once with each kind of callback."""
    return lambda **settings: start(request.param, python=True, **settings)


def raised(counters):
    """Type -> how many."""
    return {count.type: count.raised for count in counters.snapshot()}


def fail(kind, times=1):
    """Raise and handle some."""
    for _ in range(times):
        try:
            raise kind  # noqa: TRY301  # the subject
        except kind:
            pass


class OwnError(Exception):
    """A type of this module's."""


def test_names_are_qualified_but_for_builtins(counters, begin):
    """A type is called by module and qualified name, as `error.type` has it."""

    class LocalError(Exception):
        pass

    begin()
    fail(ValueError)
    fail(OwnError)
    fail(LocalError)
    assert raised(counters) == {
        "ValueError": 1,
        f"{__name__}.OwnError": 1,
        f"{__name__}.test_names_are_qualified_but_for_builtins.<locals>.LocalError": 1,
    }


def test_the_most_frequent_comes_first(counters, begin):
    """A snapshot can be printed as it is."""
    begin()
    fail(KeyError, 2)
    fail(ValueError, 5)
    fail(IndexError, 2)
    assert [(count.type, count.raised) for count in counters.snapshot()] == [
        ("ValueError", 5),
        ("IndexError", 2),
        ("KeyError", 2),
    ]


def test_the_types_of_control_flow_are_skipped(counters, begin):
    """How iterations, tasks and processes end is no exception to count; their subclasses are not either."""

    class Exit(SystemExit):
        pass

    begin()
    for kind in (StopIteration, StopAsyncIteration, GeneratorExit, KeyboardInterrupt, SystemExit, Exit):
        fail(kind)
    assert raised(counters) == {}


def test_the_list_of_skipped_types_is_the_users(counters, begin):
    """Whoever names types gets these skipped, with their subclasses, and no others."""
    begin(skip=frozenset({"LookupError", f"{__name__}.OwnError"}))
    fail(KeyError)
    fail(OwnError)
    fail(SystemExit)
    fail(ValueError)
    assert raised(counters) == {"SystemExit": 1, "ValueError": 1}


def test_iterations_end_once_where_they_are_counted(counters, begin):
    """RAISE fires again where the loop ends, in a frame that the exception never was in."""

    class Numbers:
        def __iter__(self):
            return self

        def __next__(self):
            raise StopIteration

    begin(skip=frozenset())
    for _ in Numbers():
        pass
    assert raised(counters) == {"StopIteration": 1}


def test_types_beyond_the_limit_are_one(counters, begin):
    """A service that makes up types cannot make up time series."""
    kinds = [type(f"E{number}", (Exception,), {}) for number in range(10)]
    begin(limit=1)
    for kind in kinds:
        fail(kind)
    counts = raised(counters)
    assert sum(counts.values()) == 10
    assert counts["_OTHER"] >= 9


def test_types_of_one_name_are_one_row(counters, begin, request):
    """A library that makes its types anew at each call fills neither the table nor the memory."""
    begin()
    name = request.node.name
    for _ in range(3000):
        fail(type(name, (Exception,), {"__module__": "made.up"}))
    assert raised(counters) == {f"made.up.{name}": 3000}
    gc.collect()
    alive = sum(1 for each in gc.get_objects() if isinstance(each, type) and each.__name__ == name)
    assert alive <= 1100


def test_sites_name_function_file_and_line(counters, begin):
    """On request, the table says where exceptions come up: in the frame of ours that saw them first."""
    begin(code=True)
    fail(ValueError, 2)
    try:
        int("x")
        line = 0
    except ValueError:
        line = sys._getframe().f_lineno - 3
    (count,) = counters.snapshot()
    assert count.raised == 3
    assert [(site.function, Path(site.file).name, site.line, site.raised) for site in count.sites] == [
        ("fail", Path(__file__).name, fail.__code__.co_firstlineno + 4, 2),
        ("test_sites_name_function_file_and_line", Path(__file__).name, line, 1),
    ]


def test_sites_of_code_that_is_made_anew_are_one(counters, begin):
    """The same place in a file is one site, however often its code is compiled."""
    begin(code=True)
    for _ in range(3):
        namespace = {}
        exec(compile("def f():\n  raise ValueError", "made-up.py", "exec"), namespace)  # noqa: S102  # code made anew is the subject
        with pytest.raises(ValueError, match=r"^$"):
            namespace["f"]()
    sites = [site for count in counters.snapshot() for site in count.sites if site.file == "made-up.py"]
    assert [(site.line, site.raised) for site in sites] == [(2, 3)]


def test_sites_are_bounded(counters, begin):
    """What no site accounts for is still counted for its type."""
    begin(code=True)
    for number in range(3000):
        namespace = {}
        exec(compile("\n" * number + "def f():\n  raise ValueError", "big.py", "exec"), namespace)  # noqa: S102  # code made anew is the subject
        with contextlib.suppress(ValueError):
            namespace["f"]()
    (count,) = counters.snapshot()
    assert count.raised == 3000
    assert 1500 < sum(site.raised for site in count.sites) <= 2048


def test_only_my_code_counts(counters, begin):
    """With `mine`, what the standard library and installed packages handle inside is left out."""
    begin(modules=("mine",))
    fail(OwnError)
    with pytest.raises(json.JSONDecodeError):
        json.loads("{nope")
    import queue

    with pytest.raises(queue.Empty):
        queue.Queue().get_nowait()
    import colorsys

    with pytest.raises(TypeError):
        colorsys.rgb_to_hsv("a", 1, 1)
    # Each reaches this frame, and counts here; pytest's own do not.
    assert raised(counters) == {
        f"{__name__}.OwnError": 1,
        "json.decoder.JSONDecodeError": 1,
        "_queue.Empty": 1,
        "TypeError": 1,
    }


def test_exceptions_that_stay_in_the_library_do_not_count(counters, begin):
    """A filter leaves out what never comes to code that counts."""
    begin(modules=("no-stdlib",))
    with contextlib.suppress(KeyError):
        fail(KeyError)
    import selectors

    selectors.DefaultSelector().close()
    import asyncio

    asyncio.run(asyncio.sleep(0))
    assert raised(counters) == {"KeyError": 1}


def test_only_named_modules_count(counters, begin, logged):
    """Packages and modules can be named; a name that is none is reported."""
    begin(modules=("json", "no.such.module"))
    fail(ValueError)
    with pytest.raises(json.JSONDecodeError):
        json.loads("{nope")
    assert raised(counters) == {"json.decoder.JSONDecodeError": 1}
    assert [line for line in logged() if "'no.such.module'" in line]


def test_handled_is_at_most_raised(counters, start):
    """Whatever leaves its last handler again is not handled; who is told so can subtract."""
    start(mode="handled")
    fail(KeyError, 3)
    stored = ValueError()
    for _ in range(2):
        try:
            raise stored
        except ValueError:
            pass
    assert {count.type: (count.raised, count.handled) for count in counters.snapshot()} == {
        "KeyError": (3, 3),
        "ValueError": (1, 1),
    }


def test_an_exception_under_way_is_not_handled_yet(counters, start):
    """A `finally` is no handler: what it counts for in the meantime is taken back."""
    start(mode="handled")

    def passing():
        try:
            raise ValueError
        finally:
            snapshots.append(counters.snapshot()[0].handled)

    snapshots = []
    try:
        passing()
    except ValueError:
        snapshots.append(counters.snapshot()[0].handled)
    assert snapshots == [1, 1]
    stored = None
    try:
        passing()
    except ValueError as error:
        stored = error
    assert counters.snapshot()[0].handled == 2
    with pytest.raises(ValueError, match=r"^$"):
        raise stored


def test_our_own_code_does_not_count(counters, begin):
    """What otel-fastpath itself raises and handles is none of the service's; what passes through it is the caller's."""
    import concurrent.futures

    from otel_fastpath.exceptions import server_spans

    begin(code=True)
    namespace = {}
    exec(compile("def f():\n  int('x')", server_spans.__file__, "exec"), namespace)  # noqa: S102  # as if it were ours
    with contextlib.suppress(ValueError):
        namespace["f"]()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        future = pool.submit(server_spans._call_within, None, int, "y")
        assert future.exception() is not None
    (count,) = [count for count in counters.snapshot() if count.type == "ValueError"]
    places = {(Path(site.file).name, site.function) for site in count.sites}
    assert count.raised == 2
    worker = "WorkerContext.run" if sys.version_info >= (3, 14) else "_WorkItem.run"
    assert places == {(Path(__file__).name, "test_our_own_code_does_not_count"), ("thread.py", worker)}


def test_code_without_a_file_is_not_mine(counters, begin):
    """What libraries make with `exec` belongs to nobody."""
    begin(modules=("mine",))
    namespace = {}
    exec("def f():\n  try: int('x')\n  except ValueError: pass", namespace)  # noqa: S102  # the subject
    namespace["f"]()
    assert raised(counters) == {}
