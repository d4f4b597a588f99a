"""The hooks of the stock HTTP instrumentations: the per-call code is replaced, everything else stays stock's.

Their set-up (arguments, environment, hooks, providers, middleware classes) is not touched: each patch replaces only the
function that runs for each request or call, and reads what stock's set-up left for it.
"""
