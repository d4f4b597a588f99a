"""Random programs: whatever is done to spans in whatever configuration, the telemetry is stock's."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sidebyside.compare import assert_same
from sidebyside.interpreter import Interpreter
from sidebyside.operations import programs
from sidebyside.processors import PROCESSORS
from sidebyside.setups import ID_GENERATORS, SAMPLERS, Setup

# OTEL_FASTPATH_TESTS=heavy, or a number of programs.
_ASKED = os.environ.get("OTEL_FASTPATH_TESTS", "")
_EXAMPLES = int(_ASKED) if _ASKED.isdigit() else 5000 if _ASKED == "heavy" else 100
pytestmark = pytest.mark.timeout(60 + _EXAMPLES)
_LIMITS = st.fixed_dictionaries(
    {},
    optional={
        name: st.sampled_from([0, 1, 2, 3, -1])
        for name in (
            "max_attributes",
            "max_events",
            "max_links",
            "max_span_attributes",
            "max_event_attributes",
            "max_link_attributes",
            "max_attribute_length",
            "max_span_attribute_length",
        )
    },
)
_AMONG = st.sampled_from(sorted(PROCESSORS))
setups = st.builds(
    Setup,
    sampler=st.one_of(st.just("default"), st.sampled_from(sorted(SAMPLERS))),
    ids=st.one_of(st.just("random"), st.sampled_from(sorted(ID_GENERATORS))),
    processors=st.one_of(
        st.just(("batch",)),
        st.just(("batch", "batch")),
        st.just(("simple",)),
        st.lists(_AMONG, max_size=4).map(tuple),
    ),
    limits=st.one_of(st.just({}), _LIMITS),
    seed=st.integers(0, 9),
)


def examples(share: float) -> settings:
    """So many, of those that the profile allows."""
    return settings(
        max_examples=int(_EXAMPLES * share),
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    )


@pytest.mark.proves(
    "tracer.start_span",
    "tracer.start_as_current_span",
    "span.set_attribute",
    "span.set_attributes",
    "span.set_status",
    "span.update_name",
    "span.get_span_context",
    "span.add_event",
    "span.record_exception",
    "span.end",
)
@examples(1)
@given(setup=setups, program=programs)
def test_any_program_leaves_the_same_telemetry(fast, setup, program):
    """A random program shows stock's spans, calls, log records, results and exceptions."""
    del fast
    assert_same(lambda world: Interpreter(world).run(program), setup)


@examples(0.2)
@given(setup=setups, program=programs)
def test_any_program_is_measured_alike(fast, setup, program):
    """With the SDK's own metrics on, they count the same spans."""
    del fast
    assert_same(lambda world: Interpreter(world).run(program), replace(setup, metrics=True))


@examples(0.2)
@given(setup=setups, program=programs, processor=st.sampled_from(["batch", "simple", "private", "fails on_end"]))
def test_any_program_with_a_concurrent_processor(fast, setup, program, processor):
    """Processors that run in threads of their own see the same."""
    del fast
    setup = replace(setup, concurrent=True, processors=(processor,))
    assert_same(lambda world: Interpreter(world).run(program), setup)
