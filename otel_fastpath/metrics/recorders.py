"""Where the recorder of an instrument is kept: on the instrument. Imports nothing of the SDK, which may be loading."""

from __future__ import annotations

from typing import Any, Final

RECORDER: Final = "_otel_fastpath_recorder"


def forget_series(instrument: Any) -> None:
    """Let go of the aggregations that an instrument's recorder leads to: upstream makes new ones."""
    recorder = getattr(instrument, RECORDER, None)
    if recorder is not None:
        recorder.forget()
