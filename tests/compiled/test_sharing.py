"""The guards of the pure core on a build without the interpreter lock. They are made on every build."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from otel_fastpath.compiled import sharing


@sharing._exclusive
def add_one(counts, begun, done):
    """Adds one, and waits between reading and writing."""
    before = counts["number"]
    begun.set()
    done.wait(30)
    counts["number"] = before + 1


def test_one_thread_at_a_time():
    """A second thread comes in when the first one has left."""
    counts, begun, done = {"number": 0}, threading.Event(), threading.Event()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(add_one, counts, begun, done)
        assert begun.wait(30)
        second = pool.submit(add_one, counts, threading.Event(), done)
        done.set()
        first.result(30)
        second.result(30)
    assert counts["number"] == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork")
def test_a_forked_child_does_not_wait_for_threads_that_it_has_not():
    """What one of the parent's threads held at the fork is free in the child; what the forking thread holds is not."""
    counts, begun, done = {"number": 0}, threading.Event(), threading.Event()
    # Objects share guards: one that has another.
    spare = [{} for _ in range(50)]
    own, free = next(each for each in spare if (id(each) ^ id(counts)) >> 4 & 255), set()

    @sharing._exclusive
    def fork(_):
        child = os.fork()
        if child == 0:
            try:
                signal.alarm(30)
                # Not the parent's, whose own lock the other thread may have held.
                at_once = threading.Event()
                at_once.set()
                add_one(counts, threading.Event(), at_once)
                watcher = threading.Thread(target=sharing._exclusive(lambda each: free.add(id(each))), args=(own,))
                watcher.start()
                watcher.join(0.2)
                os._exit(10 + counts["number"] + len(free))
            finally:
                os._exit(1)
        return child

    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(add_one, counts, begun, done)
        assert begun.wait(30)
        _, status = os.waitpid(fork(own), 0)
        done.set()
        held.result(30)

    assert os.waitstatus_to_exitcode(status) == 11
