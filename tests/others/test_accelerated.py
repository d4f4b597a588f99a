"""Traceloop's and OpenInference's OpenAI instrumentations, the real ones: with us they emit the same and waste less."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest

from otel_fastpath.others import openai_sources, patches_openinference, patches_openllmetry
from otel_fastpath.patching.patch import Patch

sys.path.insert(0, str(Path(__file__).parents[2]))

from examples.demo.processes import clean_environment
from examples.founding_case.environment import provide

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).with_name("accelerated")
PEERS = {
    "traceloop": ("openai-recent", patches_openllmetry.PATCHES),
    "openinference": ("openinference", patches_openinference.PATCHES),
}
# How many counts of each are held: two for each scenario, with our patches and without.
HELD = {"traceloop": 8, "openinference": 12}


@pytest.fixture(scope="module")
def base_url():
    """The loopback server of the OpenAI tests."""
    command = [sys.executable, "-m", "loopback"]
    folder = ROOT / "tests" / "genai" / "openai_http"
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.terminate()


@functools.cache
def run(base_url, peer, mode):
    """What the probe prints."""
    command = [str(provide(PEERS[peer][0]) / "python"), str(HERE / "calls.py"), base_url, peer, mode]
    done = subprocess.run(command, env=clean_environment({}), capture_output=True, text=True, check=False, timeout=180)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# One is enough for `make test`; its environment is that of tests/others/test_version_lookups.py, too.
@pytest.fixture(params=["traceloop", pytest.param("openinference", marks=pytest.mark.slow)])
def peer(request):
    """Each instrumentation."""
    return request.param


@pytest.fixture
def stock(peer, base_url):
    """What it does by itself."""
    return run(base_url, peer, "stock")


@pytest.fixture
def ours(peer, base_url):
    """What it does with us, one instrumented before it is imported, the other after everything."""
    return run(base_url, peer, "first" if peer == "traceloop" else "last")


def test_the_patches_are_applied(peer, ours):
    """All of this instrumentation's, and none of the other's, which is not installed."""
    wanted = {patch.name for patch in PEERS[peer][1]}
    applied = {name for name, (state, _) in ours["patches"].items() if state == "applied"}

    assert wanted <= applied
    assert not {name for name in applied if name.startswith(("openllmetry.", "openinference."))} - wanted
    assert ours["faults"] == {}


@pytest.mark.proves(
    "openllmetry.run_async",
    "openllmetry.accumulate",
    "openinference.redact",
    "openinference.accumulate",
    "openinference.chat_chunk",
    "openinference.chunk",
)
def test_its_data_are_unchanged(stock, ours):
    """Every span, attribute, event and series of metrics is as without us, whatever the call."""
    assert len(stock["spans"]) > 30
    for before, after in zip(stock["spans"], ours["spans"], strict=True):
        assert after == before
    assert ours["series"] == stock["series"]


@pytest.mark.proves("openllmetry.accumulate", "openinference.accumulate")
def test_random_streams_add_up_to_the_same(stock, ours):
    """What its accumulator makes of any chunks, and what it raises about them, is what it made and raised."""
    for seed, (before, after) in enumerate(zip(stock["accumulated"], ours["accumulated"], strict=True)):
        assert after == before, seed


def test_the_waste_is_gone(peer, stock, ours):
    """No event loop for a call, no dump of a chunk of text; no copy of a request without an image, no new filters."""
    before, after = stock["spent"], ours["spent"]
    if peer == "traceloop":
        assert before["loops"] > 10
        assert after["loops"] == 0
        assert before["dumps"] > 2 * after["dumps"]
    else:
        assert before["copies"] - after["copies"] > 20
        assert before["filters"] > after["filters"] + 50


def test_uninstrumented_it_is_as_before(stock, ours):
    """Taken off, nothing of ours is left in its way."""
    assert ours["spent_after"] == stock["spent_after"]


@pytest.mark.slow
def test_it_costs_no_more_than_it_may(peer):
    """Held to exact counts, with our patches and, so that the difference stays known, without."""
    command = [str(provide(PEERS[peer][0]) / "python"), "-m", "otel_fastpath", "budget", "check", "--json=-"]
    name = "openllmetry" if peer == "traceloop" else peer
    command += ["--file=benchmarks/accelerated.toml", f"--only={name}*"]
    done = subprocess.run(
        command, cwd=ROOT, env=clean_environment({}), capture_output=True, text=True, check=False, timeout=300
    )
    results = json.loads(done.stdout)["results"]
    verdicts = {result["verdict"] for result in results}

    if verdicts == {"not measured"}:
        pytest.skip(f"not measured: {results[0]['reason']}")
    assert verdicts == {"pass"}, results
    assert len(results) == HELD[peer]


def test_every_source_was_read():
    """No patch waits for a fingerprint that nobody took."""
    places = [place for _, patches in PEERS.values() for patch in patches for place in patch.sources]

    assert set(places) | set(patches_openllmetry.INSIDE) == set(openai_sources.KNOWN.places())
    assert all(openai_sources.sources(place)[place] for place in places)


def test_a_changed_function_is_left_alone(modules):
    """Of a function under Traceloop's decorator another text is no known one."""
    modules("wrapped", "def outer(func):\n    def inner():\n        return func()\n    return inner\n")
    import wrapped

    wrapped._handle_request = wrapped.outer(test_every_source_was_read)
    with pytest.raises(openai_sources.SkipError, match="is not one this patch was written for"):
        openai_sources.check_inside(wrapped, "_handle_request")
    assert all(isinstance(patch, Patch) for patch in patches_openllmetry.PATCHES)
