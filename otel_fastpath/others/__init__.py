"""Patches of other people's instrumentations."""
