"""After a call nothing of it is kept, after `uninstrument()` nothing of us is in the way."""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import sys
import tracemalloc
import weakref
from pathlib import Path

import openai
import pytest
from both import run, take, wait
from loopback.orders import ordered
from opentelemetry import metrics, trace
from opentelemetry.sdk.trace import TracerProvider
from surface import CHAT, EVERY, RESPONSE
from telemetry import Kept, ours

from otel_fastpath.instrumentor import FastpathInstrumentor

# `make soak NAME=core`: so many calls in the place of what a test run has time for.
SOAK = 100_000 if os.environ.get("OTEL_FASTPATH_TESTS") == "heavy" else 0
WINDOWS = 3
ROUNDS = SOAK // 6 // WINDOWS or 6
# Caches and pools grow once; what each call leaves behind grows in every window: a kilobyte and more where it is what
# was sent and what came back, an object that the collector knows where it is one of ours.
MOST_BYTES = 15_000
MOST_BLOCKS = 500
MOST_OBJECTS = 30
MOST_MEGABYTES = 8


async def one_of_each(client, number=0):
    """A call and a stream of each API, one of them left in the middle, one refused."""
    await wait(client.chat.completions.create(**CHAT, seed=number))
    await take(await wait(client.chat.completions.create(**CHAT, stream=True)))
    await wait(client.responses.create(**RESPONSE, metadata={"n": str(number)}))
    await take(await wait(client.responses.create(**RESPONSE, stream=True)))
    stream = await wait(client.responses.create(**RESPONSE, stream=True))
    await take(stream, 3)
    await wait(stream.close())
    try:
        await wait(client.embeddings.create(model="m", input="a", extra_headers=ordered(status=404)))
    except openai.NotFoundError:
        return


@pytest.mark.timeout(0 if SOAK else 120)
def test_memory_is_flat(kind, settings, environ, capsys):
    """However many calls were made: what they allocated is gone."""
    environ.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "span_and_event")
    kept = Kept()

    async def many(client):
        for number in range(4):
            await one_of_each(client, number)
        marks = [await held(0)]
        for window in range(WINDOWS):
            for number in range(1, ROUNDS + 1):
                await one_of_each(client, number)
                kept.clear()
                if SOAK and number % (ROUNDS // 10) == 0:
                    await held(window * ROUNDS + number)
            marks.append(await held((window + 1) * ROUNDS))
        return marks

    async def held(rounds):
        kept.seen()
        gc.collect()
        # The client's generators that were collected are closed when the loop comes to it, which it did not meanwhile.
        for _ in range(10 if kind == "async" else 0):
            await asyncio.sleep(0)
        gc.collect()
        found = tracemalloc.get_traced_memory()[0], sys.getallocatedblocks(), len(gc.get_objects()), resident()
        if SOAK:
            with capsys.disabled():
                told = "{:,} B, {:,} blocks, {:,} objects, {:.1f} MB".format(*found)
                print(f"\n{kind}, {6 * rounds:,} calls: {told}", end="")  # noqa: T201  # what a soak is run for
        return found

    # To follow every allocation takes as long again as the calls: the soak does with what the interpreter counts.
    if not SOAK:
        tracemalloc.start(1)
    try:
        with ours(kept):
            marks = run(kind, many, **settings)
    finally:
        tracemalloc.stop()
        kept.shut_down()
    grown = [[after - before for before, after in zip(*pair, strict=True)] for pair in itertools.pairwise(marks)]
    sizes, blocks, objects, megabytes = map(min, zip(*grown, strict=True))
    assert sizes < MOST_BYTES
    assert not SOAK or blocks < MOST_BLOCKS
    assert objects < MOST_OBJECTS
    assert megabytes < MOST_MEGABYTES


def resident():
    """Megabytes that the process occupies."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096 / 1e6


def test_answers_and_streams_are_let_go(kind, settings, instrumented):
    """Without the collector: nothing of ours makes a cycle of what the caller drops."""

    async def go(client):
        answer = await wait(client.chat.completions.create(**CHAT))
        stream = await wait(client.chat.completions.create(**CHAT, stream=True))
        chunk = (await take(stream))[0]
        found = [weakref.ref(each) for each in (answer, chunk)]
        del answer, chunk, stream
        return [each() is None for each in found]

    gc.disable()
    try:
        assert run(kind, go, **settings) == [True, True]
    finally:
        gc.enable()
    assert len(instrumented.spans) == 2


def test_a_stream_is_let_go_as_without_us(kind, settings, kept):
    """And its response. Whether the client's own stream is a cycle is the client's business: it is what it is."""

    async def go(client):
        found = []
        for most in (0, 3, -1):
            stream = await wait(client.chat.completions.create(**CHAT, stream=True))
            if most:
                await take(stream, most)
            await wait(stream.close())
            references = weakref.ref(stream), weakref.ref(stream.response)
            del stream
            found.append([each() is None for each in references])
        return found

    gc.disable()
    try:
        bare = run(kind, go, **settings)
        with ours(kept):
            assert run(kind, go, **settings) == bare
    finally:
        gc.enable()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_uninstrumented_clients_are_bare(kind, settings, kept):
    """Also what a client made while we were there: cached resources, bound and raw methods, open streams."""
    owners = [
        each
        for owner in (openai.OpenAI, openai.AsyncOpenAI, openai.Stream, openai.AsyncStream)
        for each in owner.__mro__
        if each.__module__.startswith("openai.")
    ]
    before = [dict(vars(each)) for each in owners]
    held = {}

    async def go(client):
        with ours(kept):
            for form in ("", "with_raw_response", "with_streaming_response"):
                for call in EVERY:
                    held[call.method, form] = call.on(client, form)
            held["stream"] = await wait(client.chat.completions.create(**CHAT, stream=True))
            held["raw"] = await wait(client.chat.completions.with_raw_response.create(**CHAT, stream=True))
            await wait(client.chat.completions.create(**CHAT))
        assert [span.name for span in kept.spans] == ["chat gpt-4o-mini"]
        kept.clear()
        for call in EVERY:
            await wait(held[call.method, ""](*call.args, **call.kwargs))
            await wait((await wait(held[call.method, "with_raw_response"](*call.args, **call.kwargs))).parse())
        assert kept.spans == []
        assert len(await take(held["stream"])) == 14
        assert len(await take(await wait(held["raw"].parse()))) == 14

    run(kind, go, **settings)
    assert [dict(vars(each)) for each in owners] == before
    # The two calls that were open have their spans.
    assert len(kept.spans) == 2


def test_instrumented_again(kind, settings):
    """Off and on again: one span for each call, from the providers of the last time."""
    first, second = Kept(), Kept()

    async def go(client):
        with ours(first):
            await wait(client.chat.completions.create(**CHAT))
        await wait(client.chat.completions.create(**CHAT))
        with ours(second):
            await wait(client.chat.completions.create(**CHAT))

    run(kind, go, **settings)
    assert (len(first.spans), len(second.spans)) == (1, 1)
    first.shut_down()
    second.shut_down()


@pytest.mark.usefixtures("environ")
def test_without_providers_nothing_happens(kind, settings, no_faults):
    """No SDK set up: calls work, and no span is recorded."""
    assert not isinstance(trace.get_tracer_provider(), TracerProvider)
    assert type(metrics.get_meter_provider()).__name__ != "MeterProvider"

    async def go(client):
        await one_of_each(client)

    instrumentor = FastpathInstrumentor()
    instrumentor.instrument(openai="on")
    try:
        run(kind, go, **settings)
    finally:
        instrumentor.uninstrument()
    assert no_faults.counts() == {}
