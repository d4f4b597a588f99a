"""The attribute of an instrument that holds its recorder. Does not import the SDK, which may be half imported."""

from __future__ import annotations

from typing import Any, Final

RECORDER: Final = "_otel_fastpath_recorder"


def forget_series(instrument: Any) -> None:
    """Drop the references of an instrument's recorder to aggregations, when stock creates new ones."""
    recorder = getattr(instrument, RECORDER, None)
    if recorder is not None:
        recorder.forget()
