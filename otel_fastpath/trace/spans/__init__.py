"""Spans: what they keep, how they change and how they end."""
