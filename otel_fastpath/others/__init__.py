"""Patches of third-party instrumentations."""
