"""Exact counts: the same every time, of the calling thread only, and blind where they say they are."""

from __future__ import annotations

import sys
import threading

import pytest

from otel_fastpath.tools.budget.counting import bytecodes, native
from otel_fastpath.tools.budget.counting.callables import Running, async_nothing, nothing


def inner():
    """Something to enter."""


def hooked():
    """Enters three functions."""
    for _ in range(3):
        inner()


async def async_hooked():
    """The same."""
    for _ in range(3):
        inner()


def hooked_until(ended):
    """The same over and over."""
    while not ended.is_set():
        hooked()


@pytest.mark.parametrize(("bare", "instrumented"), [(nothing, hooked), (async_nothing, async_hooked)])
def test_calls_are_counted(bare, instrumented):
    """Three functions were entered more than without the hook."""
    with Running(bare, instrumented) as running:
        assert bytecodes.total(bytecodes.calls(running)) == 3


def test_bytecodes_are_the_same_every_time():
    """No tolerance: what changes them is a change of the code."""
    found = set()
    for _ in range(3):
        with Running(nothing, hooked) as running:
            found.add(bytecodes.total(bytecodes.bytecodes(running)))

    assert len(found) == 1
    assert 20 < found.pop() < 60


def test_other_threads_do_not_count():
    """An exporter that is at work meanwhile changes nothing."""
    with Running(nothing, hooked) as running:
        alone = bytecodes.total(bytecodes.bytecodes(running)), bytecodes.total(bytecodes.calls(running))
        ended = threading.Event()
        busy = threading.Thread(target=hooked_until, args=(ended,))
        busy.start()
        try:
            accompanied = bytecodes.total(bytecodes.bytecodes(running)), bytecodes.total(bytecodes.calls(running))
        finally:
            ended.set()
            busy.join()

    assert accompanied == alone


def test_functions_are_told_apart():
    """`explain` shows which function the cost is in."""
    with Running(nothing, hooked) as running:
        found = {each.name: each for each in bytecodes.functions(running)}

    assert found["inner"].calls == 3
    assert found["hooked"].calls == 1
    assert found["nothing"].calls == -1
    assert "test_counts.py:" in found["inner"].place


def test_tracing_is_as_it_was():
    """A profiler or debugger that was active is put back."""

    def profiler(*_arguments):
        pass

    before = sys.getprofile(), sys.gettrace()
    sys.setprofile(profiler)
    try:
        with Running(nothing, hooked) as running:
            bytecodes.calls(running)
            bytecodes.bytecodes(running)
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(before[0])
    assert sys.gettrace() is before[1]


def test_allocations_are_counted(tmp_path):
    """Two objects beyond the free lists are two allocations, a megabyte is one more."""

    def allocating():
        object(), object()
        bytes(1 << 20)

    try:
        library = native.build(native.ALLOCATIONS, tmp_path)
    except native.MissingToolError as missing:
        pytest.skip(str(missing))
    with Running(nothing, allocating) as running:
        first = native.allocations(running, str(library))
        assert native.allocations(running, str(library)) == first

    assert first == pytest.approx(3, abs=0.1)


def test_a_missing_compiler_is_named(tmp_path, monkeypatch):
    """The count is not measured, with the reason."""
    monkeypatch.setenv("CC", "no-such-compiler")

    with pytest.raises(native.MissingToolError, match="there is no C compiler"):
        native.build(native.ALLOCATIONS, tmp_path)


def test_a_missing_valgrind_is_named(tmp_path, monkeypatch):
    """So is that."""
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(native.MissingToolError, match="valgrind is not installed"):
        native.build(native.INSTRUCTIONS, tmp_path)


def test_missing_headers_are_named(tmp_path, monkeypatch):
    """And what a compiler says of anything else is passed on."""
    for name, says in (("headers", "valgrind/callgrind.h: No such file or directory"), ("broken", "out of memory")):
        compiler = tmp_path / name
        compiler.write_text(f"#!/bin/sh\necho 'x.c:1: {says}' >&2\nexit 1\n")
        compiler.chmod(0o755)
        (tmp_path / "valgrind").write_text("#!/bin/sh\n")
        (tmp_path / "valgrind").chmod(0o755)
        monkeypatch.setenv("CC", str(compiler))
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        with pytest.raises(native.MissingToolError) as caught:
            native.build(native.INSTRUCTIONS, tmp_path)
        assert ("headers are not installed" if name == "headers" else says) in str(caught.value)
