"""Forks of a process whose threads make spans: a child has none of these threads, and all of their locks."""

from __future__ import annotations

import os

import free_threading
import pytest

# For each of three set-ups: 400 with either core; a soak does all of them with each.
FORKS, MANY_FORKS = 134, 400
# Children that hang are ended after so many seconds, which no other child comes near.
LIMIT = 60
PROGRAM = """
FORKS, LIMIT, AT_ONCE = int(sys.argv[2]), int(sys.argv[3]), 4

def busy():
    while not done.is_set():
        with tracer.start_as_current_span("outer", attributes={"a": 1}) as outer:
            with tracer.start_as_current_span("inner") as inner:
                inner.add_event("event", {"b": 2})
            outer.set_attribute("c", 3)

def in_the_child():
    signal.alarm(LIMIT)
    for _ in range(4):
        with tracer.start_as_current_span("child", attributes={"a": 1}) as span:
            span.add_event("event", {"b": 2})
    made.force_flush()

def wait(until):
    while len(children) > until:
        child, status = os.wait()
        children.discard(child)
        if status:
            ended.append(status)

made = setup()
tracer = made.get_tracer("forks")
done, children, ended = threading.Event(), set(), []
sys.setswitchinterval(2e-4)
threads = [threading.Thread(target=busy, daemon=True) for _ in range(3)]
for thread in threads:
    thread.start()
for number in range(FORKS):
    child = os.fork()
    if not child:
        try:
            in_the_child()
        except BaseException:
            os._exit(1)
        os._exit(0)
    children.add(child)
    wait(AT_ONCE)
    if ended and len(sys.argv) < 5:
        break
done.set()
for thread in threads:
    thread.join()
wait(0)
hung = sum(os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM for status in ended)
print(f"{number + 1} forks, {hung} hung, {len(ended) - hung} failed")
"""
SETUPS = {
    "a processor of the user's own": """
def setup():
    return provider(Own())
""",
    "SimpleSpanProcessor": """
def setup():
    return provider(SimpleSpanProcessor(Nothing()))
""",
    "an exporter that calls to_json": """
class Writing(SpanExporter):
    def export(self, spans):
        self.written = [span.to_json(indent=None) for span in spans]
        return SpanExportResult.SUCCESS

def setup():
    made = provider(BatchSpanProcessor(Writing(), max_queue_size=64, max_export_batch_size=8, schedule_delay_millis=1))
    # Stock guards a resource's attributes by a lock that a fork can leave locked: stock hangs there (1.40).
    made.resource._attributes = dict(made.resource._attributes)
    return made
""",
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@free_threading.forks_among_threads
@pytest.mark.parametrize("setup", SETUPS.values(), ids=list(SETUPS))
def test_no_child_hangs(in_a_process, amount, setup):
    """Each of the children, forked while three threads make spans, makes and exports its own, and ends."""
    forks = amount(FORKS, MANY_FORKS)
    assert in_a_process(setup + PROGRAM, forks, LIMIT, limit=1800) == f"{forks} forks, 0 hung, 0 failed\n"
