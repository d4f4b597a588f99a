"""Greenlets that begin in the context of the code that spawns them."""

from __future__ import annotations

from otel_fastpath.wrapping.gevent import with_context

__all__ = ["with_context"]
