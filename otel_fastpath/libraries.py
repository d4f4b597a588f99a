"""The place in 0.2.0 of `otel_fastpath.gevent`, which can still be imported from here."""

from __future__ import annotations

import sys

from otel_fastpath import gevent

__all__ = ["gevent"]

sys.modules[f"{__name__}.gevent"] = gevent
