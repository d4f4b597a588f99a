"""A profile of a block in the process itself: right, refused where it would break something, and gone afterwards."""

from __future__ import annotations

import gc
import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from otel_fastpath.profile import ProfileError, profiling

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer of CPU time")
# A module whose function `spend` uses CPU time, under the name that it is given. It has a clock of its own: one that it
# was given would be the application's.
SPENDING = """
from time import thread_time

def spend(seconds):
    begin = thread_time()
    while thread_time() < begin + seconds:
        sum(range(200))
    return thread_time() - begin
"""


def spender(name, tmp_path):
    """The function of a module that has this name."""
    path = tmp_path / f"{name}.py"
    path.write_text(SPENDING, encoding="utf-8")
    namespace = {"__name__": name}
    exec(compile(SPENDING, str(path), "exec"), namespace)  # noqa: S102  # a module of any name
    return namespace["spend"]


def run(program, *arguments, **options):
    """Run a program in a process of its own; its output."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def timers():
    """The POSIX timers of this process, as far as the system lists them."""
    place = Path("/proc/self/timers")
    return place.read_text().splitlines() if place.exists() else []


@pytest.mark.parametrize("share", [0.2, pytest.param(0.7, marks=pytest.mark.slow)])
def test_a_hook_that_takes_a_share_is_given_that_share(tmp_path, share):
    """By the clock of the thread, whatever else the machine does; in small portions, as in a service."""
    hook = spender("opentelemetry.instrumentation.made_up", tmp_path)
    work = spender("shop", tmp_path)
    draw = random.Random(share)  # noqa: S311  # it is to repeat, not to be unguessable
    hooked = worked = 0.0
    with profiling(250) as profile:
        for _ in range(250):
            # Portions of equal length could keep step with the timer.
            length = draw.uniform(0.005, 0.02)
            hooked += hook(length * share)
            worked += work(length * (1 - share))
    report = profile.report

    assert report.share.direct == pytest.approx(hooked / (hooked + worked), abs=0.08)
    assert report.share.total > report.share.direct
    assert report.share.low <= report.share.total <= report.share.high
    assert report.hooks[0].library == "made_up instrumentation"
    assert report.hooks[0].share == pytest.approx(report.share.direct, abs=0.01)
    if sys.version_info >= (3, 12):
        assert report.hooks[0].us == pytest.approx(12_500 * share, rel=0.5)


def test_threads_of_telemetry_are_counted_by_their_clock(tmp_path):
    """A thread beside the main thread: its share is what its clock says."""
    if sys.platform != "linux":
        pytest.skip("the clocks of other threads can be read on Linux only")
    hook = spender("opentelemetry.sdk.trace.export.made_up", tmp_path)
    thread = threading.Thread(target=hook, args=(0.5,), name="exporter")
    with profiling() as profile:
        thread.start()
        spender("shop", tmp_path)(0.5)
        thread.join()

    # The other thread is looked at five times a second.
    assert profile.report.share.direct == pytest.approx(0.5, abs=0.25)


@pytest.mark.slow  # on an idle machine: beside other work, threads are looked at too seldom
@pytest.mark.skipif(sys.platform != "linux", reason="the clocks of other threads can be read on Linux only")
def test_threads_are_sampled_where_they_work(tmp_path):
    """In threads that wait between short pieces of work, and do that in telemetry's code as well as in their own."""
    hook = spender("opentelemetry.instrumentation.made_up", tmp_path)
    work = spender("shop", tmp_path)
    switching = sys.getswitchinterval()
    spent = []

    def serve():
        draw = random.Random(len(spent))  # noqa: S311  # it is to repeat, not to be unguessable
        hooked = worked = 0.0
        while hooked + worked < 1:
            length = draw.uniform(0.005, 0.02)
            hooked += hook(length / 2)
            time.sleep(0.001)
            worked += work(length / 2)
            time.sleep(0.001)
        spent.append((hooked, worked))

    threads = [threading.Thread(target=serve, name=f"worker-{number}") for number in range(4)]
    with profiling() as profile:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    report = profile.report
    hooked, worked = (sum(each) for each in zip(*spent, strict=True))

    assert report.share.direct == pytest.approx(hooked / (hooked + worked), abs=0.2)
    assert report.cpu == pytest.approx(hooked + worked, rel=0.2)
    assert report.samples > 30
    assert "worker-*" in {node.name for node in report.flame.children}
    assert sys.getswitchinterval() == switching


SYSTEM_CALLS = """
import socket, time
from opentelemetry.sdk.trace import TracerProvider
from otel_fastpath import FastpathInstrumentor
from otel_fastpath.profile import profiling

FastpathInstrumentor().instrument(core="c")
tracer = TracerProvider().get_tracer("shop")
one, other = socket.socketpair()
data = bytes(20_000)

def work():
    one.send(data)
    other.recv(30_000)

def hook():
    for name in ("a", "b"):
        with tracer.start_as_current_span(name, attributes={"a": 1}):
            pass

def seconds(*functions):
    begin = time.thread_time()
    for _ in range(4_000):
        for each in functions:
            each()
    return time.thread_time() - begin

seconds(hook, work)
with profiling(241) as profile:
    for _ in range(60):
        seconds(hook, work)
hooked, worked = (sum(seconds(each) for _ in range(10)) for each in (hook, work))
print(profile.report.share.direct, hooked / (hooked + worked))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the compiled core is seen on Linux only")
def test_system_calls_are_not_taken_for_the_compiled_core(core):
    """On the C stack of a system call, there may be what a compiled function has left there."""
    if core != "c":
        pytest.skip("of the compiled core only")
    profiled, true = map(float, run(SYSTEM_CALLS).split())

    assert true - 0.2 < profiled < true + 0.06


@pytest.mark.skipif(sys.platform != "linux", reason="a timer of one thread's CPU time: on Linux only")
def test_a_main_thread_that_waits_is_not_found_waiting(tmp_path):
    """While another thread works: what the main thread did before it waits is not counted for the place of waiting."""
    hook = spender("opentelemetry.instrumentation.made_up", tmp_path)
    export = spender("opentelemetry.sdk.trace.export.made_up", tmp_path)
    thread = threading.Thread(target=export, args=(1.0,), name="exporter")
    hooked = 0.0
    with profiling(250) as profile:
        thread.start()
        while thread.is_alive():
            hooked += hook(0.002)
            time.sleep(0.001)
    (row,) = (each for each in profile.report.hooks if each.library == "made_up instrumentation")

    assert row.share == pytest.approx(hooked / (hooked + 1), rel=0.25)


def test_nothing_is_left_afterwards():
    """The handler, the timer, the tool of sys.monitoring, the callbacks of the collector, the threads, os.execv."""
    before = signal.getsignal(signal.SIGPROF), os.execv, list(gc.callbacks)
    threads = set(threading.enumerate())
    tools = [sys.monitoring.get_tool(each) for each in range(6)] if sys.version_info >= (3, 12) else []
    with profiling():
        sum(range(1_000_000))
    end = time.monotonic() + 10
    while set(threading.enumerate()) - threads and time.monotonic() < end:
        time.sleep(0.05)

    assert (signal.getsignal(signal.SIGPROF), os.execv, list(gc.callbacks)) == before
    # One of an earlier test may end meanwhile.
    assert set(threading.enumerate()) <= threads
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
    assert timers() == []
    if sys.version_info >= (3, 12):
        assert [sys.monitoring.get_tool(each) for each in range(6)] == tools


def test_an_exception_of_the_block_is_raised_and_the_report_is_there():
    """A profile does not change how the block ends."""
    with pytest.raises(ZeroDivisionError), profiling() as profile:
        raise ZeroDivisionError

    assert profile.report.share.direct == 0


def test_the_report_waits_for_the_end():
    """Inside of the block there is none."""
    with profiling() as profile, pytest.raises(RuntimeError, match="has not ended"):
        profile.report  # noqa: B018  # reading it is the test


def test_a_handler_of_the_host_is_left_alone():
    """Another profiler that uses the same signal or timer goes on; ours refuses and says why."""
    previous = signal.signal(signal.SIGPROF, lambda *_: None)
    try:
        with pytest.raises(ProfileError, match="SIGPROF already"), profiling():
            pass
    finally:
        signal.signal(signal.SIGPROF, previous)


def test_two_profiles_at_a_time_are_refused():
    """The inner one would end the outer one."""
    with profiling(), pytest.raises(ProfileError, match="SIGPROF already"), profiling():
        pass


def test_other_threads_are_refused():
    """Python handles signals in the main thread."""
    found = []

    def attempt():
        try:
            with profiling():
                pass
        except ProfileError as error:
            found.append(str(error))

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()

    assert ["main thread only" in each for each in found] == [True]


@pytest.mark.parametrize("rate", [0, -1, 1001])
def test_rates_out_of_range_are_refused(rate):
    """A rate that no kernel gives, or that costs too much."""
    with pytest.raises(ValueError, match="1 to 1000"), profiling(rate):
        pass


def test_a_program_may_become_another_one_or_end():
    """The timer outlives `exec`, and its signal would end the new program; likewise at the end of the interpreter."""
    output = run("""
        import os, sys, time
        from otel_fastpath.tools.profile.sampler import Sampler
        Sampler().start()
        os.execl(sys.executable, sys.executable, "-c",
                 "import time\\nend = time.process_time() + 0.3\\n"
                 "while time.process_time() < end: pass\\nprint('done')")
    """)

    assert output == "done\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_goes_on_without_a_profile():
    """A block's profile is the parent's."""
    output = run("""
        import os, signal, time
        from otel_fastpath.profile import profiling
        with profiling() as profile:
            child = os.fork()
            end = time.process_time() + 0.3
            while time.process_time() < end: pass
            if child == 0:
                os._exit(0)
            _, status = os.waitpid(child, 0)
        print(status, profile.report.samples > 10)
    """)

    assert output == "0 True\n"


def test_importing_it_does_nothing():
    """Neither the package nor the module that looks for an order starts anything."""
    output = run("""
        import json, sys, threading
        from otel_fastpath.tools.profile import order
        order.obey()
        ours = sorted(name for name in sys.modules if name.startswith("otel_fastpath.tools.profile"))
        print(json.dumps([ours, threading.active_count()]))
    """)

    assert json.loads(output) == [["otel_fastpath.tools.profile", "otel_fastpath.tools.profile.order"], 1]


def test_the_compiled_core_is_seen():
    """Samples in compiled functions have the module that they were taken in."""
    pytest.importorskip("otel_fastpath.tools.profile.compiled_code_c", reason="the compiled core is not built")
    output = run("""
        import json, sys, time
        from otel_fastpath import FastpathInstrumentor
        FastpathInstrumentor().instrument(core=sys.argv[1])
        from opentelemetry.sdk.trace import TracerProvider
        from otel_fastpath.profile import profiling
        tracer = TracerProvider().get_tracer("shop")
        with profiling() as profile:
            end = time.process_time() + 1
            while time.process_time() < end:
                with tracer.start_as_current_span("a", attributes={"one": 1}) as span:
                    span.set_attribute("two", 2)
        report = profile.report
        print(json.dumps([report.share.direct, [hook.hook for hook in report.hooks]]))
    """, "c")  # fmt: skip
    direct, hooks = json.loads(output)

    assert any("(compiled)" in hook for hook in hooks)
    assert direct > 0.3


def test_a_short_stack_is_not_read_beyond_its_end():
    """Above the stack of a main thread is its environment, and above that is nothing."""
    program = """
        import time
        from otel_fastpath.profile import profiling

        with profiling():
            end = time.process_time() + 0.5
            while time.process_time() < end:
                pass
        print("done")
    """
    assert run(program, env={}) == "done\n"
