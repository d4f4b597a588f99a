"""The patches of `opentelemetry.sdk.trace.Tracer`, put in place and taken off again and again."""

from __future__ import annotations

import gc

import free_threading

from otel_fastpath.trace import patches_tracer, set_up


@free_threading.frees_classes_and_functions
def test_replacements_do_not_pile_up(instrumentor, core):
    """What was taken off for good is let go of."""
    import opentelemetry.sdk.trace  # noqa: F401  # what is patched is there

    gc.collect()
    before = len(set_up.WATCHERS), len(patches_tracer._starters)
    for _ in range(5):
        instrumentor.instrument(core=core)
        assert len(set_up.WATCHERS) > 0
        instrumentor.uninstrument()
    gc.collect()
    # The last of each may be kept, to be put in place again.
    assert len(set_up.WATCHERS) <= before[0] + 1
    assert len(patches_tracer._starters) <= before[1] + 1
