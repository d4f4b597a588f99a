"""Exceptions whose own methods raise, as clients of services have them."""

from __future__ import annotations

import sys

# What follows their message in a stack trace. Up to 3.12, the `traceback` module itself raises what their notes raise.
AFTER_MESSAGE = "\nIgnored error getting __notes__: " if sys.version_info >= (3, 13) else "\n"


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
