"""Does each thing in a forked process of its own, from a process in which everything is imported and was used."""

from __future__ import annotations

import os
import pickle
import signal
import struct
import sys
import traceback

# A changed function may never return.
LIMIT_S = 60
# All programs together take longer, with each core.
LONG_S = 900


def _write(descriptor, value):
    data = pickle.dumps(value)
    data = struct.pack("<Q", len(data)) + data
    while data:
        data = data[os.write(descriptor, data) :]


def _read(descriptor):
    def exactly(number):
        data = b""
        while len(data) < number:
            more = os.read(descriptor, number - len(data))
            if not more:
                return None
            data += more
        return data

    head = exactly(8)
    body = None if head is None else exactly(struct.unpack("<Q", head)[0])
    return None if body is None else pickle.loads(body)  # noqa: S301  # a child of this process wrote it


def _begin(call, limit_s):
    """Fork a child that calls; returns its number, and where it writes what the call returned."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    status = 1
    try:
        os.close(reading)
        signal.alarm(limit_s)
        _write(writing, call())
        status = 0
    except BaseException:
        sys.stderr.write(traceback.format_exc())
        sys.stderr.flush()
    finally:
        os._exit(status)


def in_child(call, limit_s=LIMIT_S):
    """What a call returned in a forked child; None if it was stopped or the child ended."""
    child, reading = _begin(call, limit_s)
    try:
        return _read(reading)
    finally:
        os.close(reading)
        os.waitpid(child, 0)


class Parent:
    """A forked process that prepares once, and forks a child for each call.

    Args:
        prepare: Called in it, at first.
        do: Called in each child, with what was asked.
    """

    def __init__(self, prepare, do):
        asked, self._asking = os.pipe()
        self._answers, answering = os.pipe()
        self._process = os.fork()
        if self._process:
            os.close(asked)
            os.close(answering)
            return
        try:
            os.close(self._asking)
            os.close(self._answers)
            prepare()
            # The end of the file is no end: other processes that were forked meanwhile have it open, too.
            while (question := _read(asked)) is not None:
                _write(answering, (in_child(lambda: do(question)),))
        except BaseException:
            sys.stderr.write(traceback.format_exc())
        finally:
            os._exit(0)

    def ask(self, question):
        """What `do` returned; None if the child ended without an answer.

        Raises:
            ChildProcessError: The process ended.
        """
        _write(self._asking, question)
        answer = _read(self._answers)
        if answer is None:
            raise ChildProcessError("a process that was prepared has ended")
        return answer[0]

    def end(self):
        """End the process."""
        _write(self._asking, None)
        os.close(self._asking)
        os.waitpid(self._process, 0)
        os.close(self._answers)
