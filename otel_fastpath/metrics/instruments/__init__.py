"""Instruments: what a measurement does, and the series that it goes to."""
