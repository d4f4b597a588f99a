"""Messages of Anthropic's client: what stands in the place of stock's hooks, and when it steps back."""

# ruff: noqa: ARG001  # the fixture `ours` puts the functions in their places

from __future__ import annotations

import asyncio
import gc
import importlib
import os
import threading
import weakref

import pytest
import wrapt
from anthropic.resources.messages import Messages
from executed_functions import executed
from opentelemetry import trace
from opentelemetry.instrumentation.genai.anthropic import AnthropicInstrumentor, wrappers

from otel_fastpath.genai.anthropic import patches, stock_anthropic
from otel_fastpath.genai.anthropic.streamed_messages import Draft as PureDraft

from .conftest import ASKED, CAPTURE, NAMES, Telemetry, events, instrumented_by, message, states, text, tool

STOCK = stock_anthropic.MODULE
# What stock's code would execute.
OWN = {
    "get_llm_request_attributes",
    "extract_params",
    "extract_usage_tokens",
    "_is_raw_response",
    "is_anthropic_stream",
}


def ask(answers, **more):
    """One message, at once."""
    return answers.client().messages.create(**ASKED, **more)


def stream(answers, *blocks):
    """One that is streamed."""
    answers.answer = list(events(*(blocks or (text("Hel", "lo"), tool('{"city": ', '"Paris"}')))))
    return answers.client().messages.create(**ASKED, stream=True)


def go_through(answers):
    """A message of each kind."""
    answers.answer = message([{"type": "text", "text": "Hello"}], "end_turn")
    ask(answers)
    list(stream(answers))

    async def both():
        client = answers.client(is_async=True)
        await client.messages.create(**ASKED, stream=False)

    answers.answer = message([{"type": "text", "text": "Hello"}], "end_turn")
    asyncio.run(both())


def test_stock_does_none_of_it(ours, answers):
    """Neither Anthropic's own function that puts messages together, nor the functions of stock's."""
    telemetry = Telemetry()
    with instrumented_by(telemetry):
        go_through(answers)
        found = executed(lambda: go_through(answers), STOCK)
        assert not OWN & set(found)
        assert "accumulate_event" not in executed(lambda: list(stream(answers)), "anthropic.lib.streaming")
    assert len(telemetry.seen().spans) == 7


@pytest.mark.parametrize("was_first", [True, False])
def test_in_either_order_and_given_back(instrumentor, core, answers, was_first):
    """The very same functions are there again, and the hooks run their own code."""
    plain, telemetry = Messages.create, Telemetry()
    if was_first:
        with instrumented_by(telemetry):
            instrumentor.instrument(core=core)
            assert not OWN & set(executed(lambda: go_through(answers), STOCK))
            instrumentor.uninstrument()
            assert set(executed(lambda: go_through(answers), STOCK)) >= OWN
    else:
        instrumentor.instrument(core=core)
        with instrumented_by(telemetry):
            assert not OWN & set(executed(lambda: go_through(answers), STOCK))
            assert set(states(instrumentor).values()) == {("applied", "")}
            instrumentor.uninstrument()
            assert set(executed(lambda: go_through(answers), STOCK)) >= OWN
    assert not patches.HOOKS.diversions.diverted()
    assert Messages.create is plain
    assert len(telemetry.seen().spans) == 6


@pytest.mark.parametrize("place", stock_anthropic.CALLED._first)
@pytest.mark.parametrize("is_before", [True, False])
def test_what_other_code_replaces_is_called(ours, answers, monkeypatch, place, is_before):
    """Also if that was there when the first message came; and the status names it."""
    monkeypatch.setenv(CAPTURE, "span_only")
    with instrumented_by(Telemetry()):
        if not is_before:
            go_through(answers)
        module, _, name = place.partition(":")
        owner = importlib.import_module(module)
        for part in name.split(".")[:-1]:
            owner = getattr(owner, part)
        name = name.rpartition(".")[2]
        called, stored = [], vars(owner)[name]

        def replacement(*args, **kwargs):
            called.append(name)
            return stored(*args, **kwargs)

        # Where stock's modules have it, too.
        for part in ("patch", "wrappers", "messages_extractors", "utils"):
            found = importlib.import_module(f"{STOCK}.{part}")
            if vars(found).get(name) is stored:
                monkeypatch.setattr(found, name, replacement)
        monkeypatch.setattr(owner, name, replacement)
        go_through(answers)
        assert called
        assert any(name in reason for _, reason in states(ours).values())
        monkeypatch.undo()
        assert set(states(ours).values()) == {("applied", "")}


def test_a_draft_reads_like_the_message(ours, answers, core):
    """Whatever else of stock's reads it, such as after this package is uninstrumented, reads Anthropic's message."""
    with instrumented_by(Telemetry()):
        found = stream(answers)
        for _ in range(8):
            next(found)
        draft = found._self_message
        assert (type(draft) is PureDraft) is (core == "py")
        assert draft.content[0].text == "Hello"
        assert draft.content[1].input == {"city": "Paris"}
        assert (draft.usage.input_tokens, draft.stop_reason) == (3, None)
        ours.uninstrument()
        list(found)
        assert found._self_message.stop_reason == "end_turn"
        assert found._self_message.content[1].input == {"city": "Paris"}


def test_a_vendors_wrapper(ours, answers):
    """Around a method of the library: each runs once."""
    called, telemetry = [], Telemetry()

    def around(wrapped, _instance, args, kwargs):
        called.append(kwargs["model"])
        return wrapped(*args, **kwargs)

    with instrumented_by(telemetry):
        below = Messages.__dict__["create"]
        Messages.create = wrapt.FunctionWrapper(below, around)
        assert not OWN & set(executed(lambda: ask(answers), STOCK))
        Messages.create = below
    assert called == [ASKED["model"]]
    assert len(telemetry.seen().spans) == 1


def test_threads_do_not_mix(ours, answers):
    """Each thread's spans have its own parents."""
    telemetry = Telemetry()
    tracer = telemetry.tracers.get_tracer("application")

    def work(number):
        client = answers.client()
        for _ in range(10):
            with tracer.start_as_current_span(f"{number}"):
                client.messages.create(**{**ASKED, "model": f"model {number}"})

    with instrumented_by(telemetry):
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    spans = telemetry.seen().spans
    assert len(spans) == 80
    assert all(spans[span[-1]][0] == span[0].split()[-1] for span in spans if span[0].startswith("chat"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child(ours, answers):
    """A child goes on with its own."""
    telemetry = Telemetry()
    with instrumented_by(telemetry):
        found = stream(answers)
        next(found)
        child = os.fork()
        if not child:
            list(found)
            os._exit(0 if len(telemetry.spans.get_finished_spans()) == 1 else 1)
        assert os.waitpid(child, 0)[1] == 0
        list(found)
    assert len(telemetry.seen().spans) == 1


def test_nothing_is_kept(ours, answers, unfrozen):
    """Neither a message, nor a stream that was left, nor the first event of one."""
    with instrumented_by(Telemetry()):
        answers.answer = message([{"type": "text", "text": "Hello"}], "end_turn")
        found, made = ask(answers), stream(answers)
        watched = [weakref.ref(found), weakref.ref(next(made))]
        del found, made
        gc.collect()
        assert [each() for each in watched] == [None, None]


@pytest.mark.parametrize("how", ["cancelled", "abandoned"])
@pytest.mark.parametrize("is_streamed", [True, False])
def test_a_coroutine_that_does_not_end(ours, answers, how, is_streamed):
    """Where it waits for the answer or for an event: one span that failed, as with stock."""
    telemetry = Telemetry()

    async def wait(*_args, **_kwargs):
        await asyncio.sleep(60)

    async def main():
        client = answers.client(is_async=True)
        if is_streamed:
            answers.answer = list(events(text("a")))
            made = await client.messages.create(**ASKED, stream=True)
            await made.__anext__()
            made._self_aiter = type("Waits", (), {"__anext__": wait})()
            coroutine = made.__anext__()
        else:
            client.post = client.messages._post = wait
            coroutine = client.messages.create(**ASKED)
        if how == "abandoned":
            coroutine.send(None)
            coroutine.close()
        else:
            task = asyncio.ensure_future(coroutine)
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with instrumented_by(telemetry):
        asyncio.run(main())
    ((name, _, (status, _), attributes, *_),) = telemetry.seen().spans
    assert status is trace.StatusCode.ERROR
    assert dict(attributes)["error.type"] == (
        "GeneratorExit" if how == "abandoned" else "asyncio.exceptions.CancelledError"
    )
    assert name == "chat claude-opus-5"


class LimitReached(Exception):  # noqa: N818  # as Celery's `SoftTimeLimitExceeded`
    """A time limit."""


@pytest.mark.parametrize("is_streamed", [True, False])
def test_an_interruption_is_the_hosts(ours, answers, is_streamed):
    """A time limit that arrives while it waits is raised there, and is no fault."""
    telemetry = Telemetry()

    def raise_limit(*_args, **_kwargs):
        raise LimitReached

    with instrumented_by(telemetry):
        made = stream(answers) if is_streamed else None
        if made is not None:
            made._self_iterator = map(raise_limit, [1])
        client = answers.client()
        client.messages._post = raise_limit
        with pytest.raises(LimitReached):
            _ = client.messages.create(**ASKED) if made is None else next(made)
    ((*_, (status, _), attributes, _, _),) = telemetry.seen().spans
    assert status is trace.StatusCode.ERROR
    assert dict(attributes)["error.type"].endswith("LimitReached")


def test_a_json_that_is_refused(ours, answers, caplog):
    """Stock's warning, once; nothing is put together from then on, as with stock."""
    telemetry = Telemetry()
    with instrumented_by(telemetry):
        list(stream(answers, text("a"), tool('{"a": ', "nonsense", "}")))
        list(stream(answers))
    wrappers._accumulation_disabled = False
    assert [record.getMessage()[:39] for record in caplog.records] == ["Failed to accumulate streaming content;"]
    first, second = telemetry.seen().spans
    assert "gen_ai.response.model" in dict(first[3])
    assert "gen_ai.response.model" not in dict(second[3])


def test_every_patch_is_named(ours):
    """This file looks at each."""
    assert tuple(patch.name for patch in patches.PATCHES) == NAMES
    assert not AnthropicInstrumentor().is_instrumented_by_opentelemetry
