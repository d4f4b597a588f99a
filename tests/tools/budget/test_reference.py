"""The frozen workloads stay frozen: numbers that were stored in their unit must keep their meaning."""

from __future__ import annotations

import hashlib
import inspect

import pytest

from otel_fastpath.tools.budget import reference

# A change of the source voids every number in its unit. A better workload gets a new name, and a line here.
DIGESTS = {
    "minispan/1": "2fa6b724cd592d27",
    "json/1": "c27eb0bde7c990d2",
}
PARTS = {
    "minispan/1": (reference._MiniSpan, reference._mini_span, reference.minispan_1),
    "json/1": (reference.json_1, repr(reference._DOCUMENT)),
}


@pytest.mark.parametrize("name", reference.REFERENCES)
def test_a_reference_does_not_change(name):
    """Its source, comments and all, is the one that was measured with."""
    text = "".join(part if isinstance(part, str) else inspect.getsource(part) for part in PARTS[name])

    assert hashlib.sha256(text.encode()).hexdigest()[:16] == DIGESTS[name]


@pytest.mark.parametrize("name", reference.REFERENCES)
def test_a_reference_keeps_nothing(name):
    """However often it runs, it holds no more than some hundred spans."""
    for _ in range(2000):
        reference.REFERENCES[name]()

    assert len(reference._ended) < 600
    assert reference._current.get() is None
