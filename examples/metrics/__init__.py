"""Measurements whose attributes are known up front."""
