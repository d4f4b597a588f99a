"""Locks that a fork releases, and counts."""

from __future__ import annotations

import os
import threading

import pytest

from otel_fastpath import locks


def test_a_lock_that_another_thread_of_this_process_holds_stays_locked():
    """In a forked child, a metric reader's thread can hold it before the handlers of the fork have run."""
    lock = locks.Lock()
    is_held, may_release = threading.Event(), threading.Event()
    errors = []

    def hold():
        try:
            with lock:
                is_held.set()
                may_release.wait(30)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=hold)
    thread.start()
    is_held.wait(30)
    lock.renew()
    acquired = threading.Thread(target=lock.__enter__, daemon=True)
    acquired.start()
    acquired.join(0.05)
    was_locked = acquired.is_alive()
    may_release.set()
    thread.join()

    assert was_locked
    assert errors == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_lock_that_a_thread_of_the_parent_holds_is_released_in_a_child():
    """That thread does not exist in the child."""
    lock = locks.Lock()
    is_held, may_release = threading.Event(), threading.Event()

    def hold():
        with lock:
            is_held.set()
            may_release.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    is_held.wait(30)
    child = os.fork()
    if not child:
        acquired = threading.Thread(target=lock.__enter__, daemon=True)
        acquired.start()
        acquired.join(30)
        os._exit(acquired.is_alive())
    status = os.waitpid(child, 0)[1]
    may_release.set()
    thread.join()

    assert os.waitstatus_to_exitcode(status) == 0
