"""The setting `proven`: patches for sources that no release knows, where `otel-fastpath prove` has accepted them."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.trace import Span

from otel_fastpath.instrumentor import FastpathInstrumentor
from otel_fastpath.patching import interpreter
from otel_fastpath.patching.patch import State
from otel_fastpath.patching.sources import guard, proof_file, proven
from otel_fastpath.patching.sources.proven import Proof

PLACE = "opentelemetry.sdk.trace:Span.set_attributes"
PATCH = "span.set_attributes"


@pytest.fixture
def instrumented(monkeypatch, tmp_path):
    """`instrumented(fingerprint)`: the row of a patch whose source is not known, with a proof of this fingerprint."""
    instrumentor = FastpathInstrumentor()
    unknown = Span.set_attributes
    is_known = guard.is_known
    monkeypatch.setattr(guard, "is_known", lambda value, known: value is not unknown and is_known(value, known))
    versions = {name: interpreter.version(name) for name in ("opentelemetry-sdk", "otel-fastpath")}

    def run(fingerprint):
        file = tmp_path / proven.FILE
        proof = Proof("2026-11-27", ("c", "py"), {PLACE: fingerprint}, {PLACE: 7})
        file.write_text(proof_file.text_of(proof, versions))
        instrumentor.instrument(proven=file)
        return next(row for row in instrumentor.status() if row.name == PATCH)

    yield run
    instrumentor.uninstrument()


def test_a_source_that_was_proven_is_accepted(instrumented):
    """The status says when, and by how many programs; afterwards nothing counts any more."""
    row = instrumented(guard.fingerprint(Span.set_attributes))

    assert (row.state, row.reason) == (State.APPLIED, "proven here on 2026-11-27 by 7 programs")
    FastpathInstrumentor().uninstrument()
    assert not proven.is_used()


def test_another_source_is_not(instrumented):
    """The function is named."""
    row = instrumented("0123456789ab")

    assert (row.state, row.unknown) == (State.SKIPPED, PLACE)
