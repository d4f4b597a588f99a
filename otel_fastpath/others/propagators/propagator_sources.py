"""The sources of the propagators' releases: written by tests/others/library_fingerprints.py."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from otel_fastpath.patching.sources.known import Known

KNOWN: Final = Known(Path(__file__).with_name("sources.json"))
