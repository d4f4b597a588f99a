"""Exceptions whose own methods raise, as clients of services have them."""

from __future__ import annotations

import sys

import pytest

# Up to 3.12, the `traceback` module raises what looking for notes raises, and so does OpenTelemetry by itself.
NEEDS_TRACEBACK = pytest.mark.skipif(sys.version_info < (3, 13), reason="the traceback module itself raises")


class AnswerError(Exception):
    """Of a client of some service: an attribute that it does not have is a KeyError."""

    def __getattr__(self, name):
        """Only `status` is there."""
        return {"status": 500}[name]


class DelegatingError(Exception):
    """Whose attributes are another's, which is one of them."""

    def __getattr__(self, name):
        """Reading `inner` asks here, too, without end."""
        return getattr(self.inner, name)
