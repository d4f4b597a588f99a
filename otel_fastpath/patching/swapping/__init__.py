"""Exchanging the code of functions: attributes are swapped and given back, calls are diverted, hooks switched off."""
