"""The injection itself: which lines hold a call, that one fails, and what is judged to be wrong."""

from __future__ import annotations

import faulthandler
import importlib.util
import os
import sys
import textwrap
from pathlib import Path

import pytest
from faultcheck import guards
from faultcheck.children import ChildError, in_child
from faultcheck.injector import InjectedFault, Injector
from faultcheck.judge import TWICE, Run, Verdict, judge
from faultcheck.lines import relative, with_calls
from faultcheck.places import REPOSITORY
from faultcheck.report import Report

from otel_fastpath import compiled, locks
from otel_fastpath.patching import faults
from otel_fastpath.patching.outcome import call_guarded

SOURCE = """
    import functools

    def wrapper(original):
        @functools.wraps(original)
        def method(self, *args):
            known = self.name
            if known is None or type(known) is int:
                return original(self, *args)
            empty = Call.__new__(Call)
            found = prepare(
                known,
                str(known),
            )
            with found:
                pass
            with original(self) as made:
                pass
            return [each for each in found]

        return method
"""
GUARDS = """
    from otel_fastpath.patching import faults
    from otel_fastpath.patching.outcome import guarded, never_raises

    @never_raises("a place")
    def decorated():
        prepare()

    def tried():
        try:
            prepare()
        except Exception:
            decorated()

    def raises_again():
        try:
            prepare()
        except Exception:
            raise

    def sorts_out(found):
        try:
            prepare()
        except BaseException as error:
            try:
                faults.absorb_any("a place", error)
            except BaseException:
                found.stop()
                raise

    def cleans_up_first(found):
        try:
            prepare()
        except BaseException as error:
            found.stop()
            faults.absorb_any("a place", error)

    def hands_on(original, args):
        try:
            return original(*args)
        finally:
            tried()

    def prepares(value):
        guarded("a place", prepare, value)
        return prepare(value)

    def says():
        tried()
        raise ValueError

    def nothing():
        return None

    class Base:
        def end(self):
            tried()

    class Derived(Base):
        def fail(self):
            self.end()

        def stop(self):
            self.start()
"""
forked = pytest.mark.skipif(not hasattr(os, "fork"), reason="each line fails in a forked child")


@pytest.fixture
def file(tmp_path):
    """A module that looks as if it were one of the package."""
    folder = tmp_path / "otel_fastpath"
    folder.mkdir()
    made = folder / "sample.py"
    made.write_text(textwrap.dedent(SOURCE), encoding="utf-8")
    return made


def test_lines_with_calls_are_found(file):
    """Calls, `with` and loops; not those of what the host called, and not what cannot fail but for lack of memory."""
    lines = file.read_text(encoding="utf-8").splitlines()
    found = [lines[number - 1].strip() for number in sorted(with_calls(file))]
    assert found == [
        "@functools.wraps(original)",
        "found = prepare(",
        "str(known),",
        "with found:",
        "return [each for each in found]",
    ]


def test_what_lets_no_fault_through_is_told_from_the_rest(tmp_path):
    """A `try` for any exception, a decorator, calls of such functions; not what raises, and not what holds no call."""
    folder = tmp_path / "otel_fastpath" / "patching"
    folder.mkdir(parents=True)
    for name in ("faults.py", "outcome.py"):
        source = Path(compiled.__file__).parents[1].joinpath("patching", name).read_text(encoding="utf-8")
        folder.joinpath(name).write_text(source, encoding="utf-8")
    file = folder / "sample.py"
    file.write_text(textwrap.dedent(GUARDS), encoding="utf-8")

    found = guards.of(file, tmp_path).names
    assert found - {"guarded", "never_raises"} == {
        *("decorated", "tried", "sorts_out", "hands_on"),
        *("Base.end", "Derived.fail"),
    }
    lines = file.read_text(encoding="utf-8").splitlines()
    assert [lines[number - 1].strip() for number in sorted(with_calls(file))].count("tried()") == 0


@pytest.mark.parametrize(
    ("place", "names"),
    [
        (
            "wrapping/call_span.py",
            {
                "new_call",
                "begin_call",
                "new_query",
                "Call.end",
                "Call.fail",
                "Call.leave",
                "QueryCall.done",
                "QueryCall.end_failed",
            },
        ),
        (
            "genai/openai/calls.py",
            {
                "new_call",
                "begin",
                "OpenAICall.end",
                "OpenAICall.fail",
                "OpenAICall.leave",
                "OpenAICall.answer",
                "OpenAICall.abandon",
            },
        ),
        ("genai/openai/reading/iterators.py", {"Reading._took", "Reads.__next__", "AsyncReads.__anext__"}),
        ("wrapping/starting.py", {"end_span"}),
        ("patching/faults.py", {"report", "report_any", "absorb_any"}),
        ("trace/context/current_context.py", {"attach_context", "restore"}),
        ("metrics/instruments/reentry.py", {"hold_locks", "record"}),
        ("metrics/instruments/bound.py", {"_record", "_record_as_stock"}),
        ("db/redis/hooks.py", {"_enter_pipeline"}),
        (
            "db/psycopg/pipelines.py",
            {"Submission.done", "Submission.end_failed", "ending", "ending_of_command", "ending_in_transaction"},
        ),
        ("db/asyncpg/connecting.py", {"_Attempt.end", "_Attempt.fail"}),
        ("db/call_wrappers.py", {"look", "watch"}),
        ("db/not_begun.py", {"otherwise"}),
        (
            "db/entering.py",
            {"Commands.enter", "Connections.enter", "Cursors.enter", "Openings.enter", "QueryMaker.new"},
        ),
        ("db/outer.py", {"Statements.enter", "Transactions.enter"}),
        ("db/sqlalchemy/checkouts.py", {"begin", "end_wait", "record_release"}),
        ("db/sqlalchemy/hooks.py", {"ByEngineOpener.enter"}),
        # These are taken from hot modules there.
        ("db/sqlalchemy/pool_hooks.py", {"begin", "end_wait", "record_release"}),
        ("db/cassandra/futures.py", {"end_with_response", "end_with_error"}),
        ("db/cassandra/hooks.py", {"after_submit"}),
        ("http/scopes.py", {"make_scope", "enter_scope", "exit_scope"}),
        (
            "http/clients/outgoing.py",
            {
                *("propagate", "suppress", "resume", "connecting", "end_connecting"),
                *(f"ClientCall.{name}" for name in ("try_enter", "connect", "suppress", "resume", "leave")),
            },
        ),
        (
            "http/client.py",
            {
                f"ClientInstrumentation.{name}"
                for name in ("begin", "propagate", "record_response", "response_of", "show", "measure", "record_error")
            },
        ),
        ("http/httpx/calls.py", {"HttpxInstrumentation.propagate"}),
        ("http/urllib3/hooks.py", {"Urllib3Instrumentation.measure"}),
        (
            "http/aiohttp_client/calls.py",
            {"AiohttpClientInstrumentation.start", "AiohttpClientInstrumentation.finish"},
        ),
        ("http/asgi/requests.py", {"AsgiRequest.uncount", "AsgiRequest.end"}),
        ("http/servers/asgi_messages.py", {"MessageRequest.send", "MessageRequest.complete"}),
        ("http/asgi/patches.py", {"route_of"}),
        (
            "http/django/middleware.py",
            {"DjangoRequest.take_route", "DjangoRequest.answer"},
        ),
        ("trace/spans/ending.py", {"_try_end"}),
        (
            "http/fastapi/requests.py",
            {f"FastapiRequest.{name}" for name in ("complete", "end")},
        ),
        ("http/aiohttp_server/requests.py", {"AiohttpRequest.answer", "AiohttpRequest.fail"}),
        ("http/server.py", {f"ServerRequest.{name}" for name in ("try_start", "count", "uncount", "measure", "end")}),
        ("http/server.py", {"RequestChooser.choose", "serve_instead"}),
        (
            "http/servers/activations.py",
            {
                "OpenActivation",
                *(
                    f"Activation.{each}"
                    for each in ("activate", "deactivate", "suspend", "resume", "record", "leave", "end")
                ),
            },
        ),
        # `begin` is taken from a hot module there.
        ("genai/openai/patches.py", {"begin", "end_or_follow"}),
    ],
)
def test_what_stands_around_the_hosts_call_lets_no_fault_through(place, names):
    """Whoever calls these has no `try` of his own."""
    file = REPOSITORY / guards.PACKAGE / place
    if not file.parent.is_dir():
        pytest.skip("this feature is not there")
    assert names <= guards.of(file, REPOSITORY).names


def test_only_files_of_the_package_count():
    """Wherever the package is; not what measures it, and nobody else's."""
    assert relative("/a/otel_fastpath/trace/context/scope.py") == "otel_fastpath/trace/context/scope.py"
    assert relative("otel_fastpath/trace/context/scope.py") == "otel_fastpath/trace/context/scope.py"
    assert relative("/a/otel_fastpath/tools/budget/cli.py") is None
    assert relative("/a/opentelemetry/trace/__init__.py") is None


@pytest.fixture
def injector():
    """An injector, of which nothing is left in the process of the tests."""
    made = Injector()
    yield made
    made.close()


def test_a_line_fails_once_or_always(file, injector):
    """The line that was asked for, and no other; afterwards none."""
    spec = importlib.util.spec_from_file_location("sample", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    place = ("otel_fastpath/sample.py", 5)

    injector.record()
    module.wrapper(len)
    assert place in injector.disarm()
    for repeats in (False, True) if sys.version_info >= (3, 12) else (False,):
        injector.arm(place, repeats=repeats)
        for turn in range(3):
            if repeats or turn == 0:
                with pytest.raises(InjectedFault, match=r"sample\.py:5"):
                    module.wrapper(len)
            else:
                module.wrapper(len)
        injector.disarm()
    module.wrapper(len)


def test_what_fails_is_a_fault_of_this_package(injector):
    """No interruption, although the interpreter calls what raises it, as it does a tracing function."""
    tally = locks.Tally()
    injector.record()
    tally.add("a")
    place = min(injector.disarm())
    injector.arm(place, repeats=False)
    before = faults.counts().get("a place", 0)
    assert call_guarded("a place", tally.add, "a") is None
    injector.disarm()
    assert faults.counts()["a place"] == before + 1


@forked
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_that_hangs_or_dies_is_told():
    """With the place where it was; one that does not gives what it found."""
    # The child would wait for the thread of pytest's own, which it does not have.
    faulthandler.cancel_dump_traceback_later()
    assert in_child(lambda: [1, "a"], 20) == [1, "a"]
    with pytest.raises(ChildError, match="test_injection"):
        in_child(lambda: os.read(os.pipe()[0], 1), 0.2)
    with pytest.raises(ChildError, match="SIGKILL"):
        in_child(lambda: os.kill(os.getpid(), 9), 20)


def judged(**found):
    """What is said of a run that differs so from one without a fault."""
    fine = {"outcomes": {"step": "returned 1"}, "moved": [], "telemetry": {"span a": 1, "  attribute": 1}}
    verdict = Verdict()
    judge("once", Run(**{**fine, **found}), Run(**fine), verdict)
    return verdict


def test_what_is_judged_to_be_wrong():
    """Another outcome, another context, and more telemetry; less of it is told and no failure."""
    assert judged().is_fine
    assert not judged(outcomes={"step": "raised X"}).is_kept
    assert not judged(outcomes={}).is_kept
    assert not judged(stopped="X").is_kept
    assert not judged(moved=["step"]).is_kept
    assert judged(telemetry={"span a": 2, "  attribute": 1}).twice
    assert judged(telemetry={"span a": 1, "  attribute": 1, TWICE: 1}).twice
    less = judged(telemetry={"  attribute": 2})
    assert less.is_fine
    assert less.lost


def test_the_exit_status_says_whether_all_is_well(capsys):
    """1 with a list of places where it is not; 2 where nothing was looked at."""
    row = {"core": "c", "workload": "spans", "place": "otel_fastpath/a.py:1", "hits": 1}
    fine = {**row, **vars(Verdict())}
    bad = {**row, **vars(Verdict(host=["once: step: raised X"])), "place": "otel_fastpath/b.py:2"}
    assert [Report(rows).status() for rows in ([], [fine], [fine, bad])] == [2, 0, 1]
    Report([fine, bad]).show(details=False)
    shown = capsys.readouterr().out
    assert "otel_fastpath/b.py:2  reached the host: spans (c)" in shown
    assert "50.0 %" in shown
