"""Counts calls of functions without putting anything in their place: what is looked at stays as it is."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections import Counter
from importlib import metadata
from typing import TYPE_CHECKING, Any

from packaging import version as packaging_version

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType

# Taken before anything is instrumented.
COUNTED: dict[CodeType, str] = {
    metadata.version.__code__: "importlib.metadata.version",
    metadata.distribution.__code__: "importlib.metadata.distribution",
    metadata.Distribution.from_name.__func__.__code__: "Distribution.from_name",  # type: ignore[attr-defined]
    packaging_version.parse.__code__: "packaging.version.parse",
    packaging_version.Version.__init__.__code__: "packaging.version.Version",
}


@contextlib.contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count the calls of version lookups and parses in the block, on this thread and on those started in it."""
    calls: Counter[str] = Counter()

    def profile(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_code in COUNTED:
            calls[COUNTED[frame.f_code]] += 1

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
