"""Looks for errors of memory and for references that are lost, in each hot path."""
