"""The same log calls with and without the fast path."""
