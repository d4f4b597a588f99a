"""The API's functions with a patch, by the patch's name, and a call of each."""

from __future__ import annotations

from opentelemetry import baggage, trace
from opentelemetry import context as context_api

from otel_fastpath.trace.context import baggage_functions, context_functions

# The names of the patches -> the module of the function, and what makes the replacement.
PATCHED = {
    "context.attach": (context_api, context_functions.bind_attach),
    "context.detach": (context_api, context_functions.bind_detach),
    "context.get_value": (context_api, context_functions.bind_get_value),
    "context.set_value": (context_api, context_functions.bind_set_value),
    "trace.set_span_in_context": (trace, context_functions.bind_set_span),
    "trace.get_current_span": (trace, context_functions.bind_get_span),
    "baggage.get_all": (baggage, baggage_functions.bind_get_all),
    "baggage.get_baggage": (baggage, baggage_functions.bind_get_baggage),
    "baggage.set_baggage": (baggage, baggage_functions.bind_set_baggage),
}
STOCK = {name: getattr(module, name.partition(".")[2]) for name, (module, _) in PATCHED.items()}
NAMES = tuple(PATCHED)


def place(name):
    """The module and the name of the function."""
    return PATCHED[name][0], name.partition(".")[2]


def use(name, function=None):
    """Call the function; what is comparable of what it does. Whatever it attaches is restored."""
    function = function or getattr(*place(name))
    if name == "context.attach":
        token = function(context_api.Context({"a": 1}))
        found = dict(context_api.get_current())
        context_api._RUNTIME_CONTEXT.detach(token)
        return found
    if name == "context.detach":
        token = context_api._RUNTIME_CONTEXT.attach(context_api.Context({"a": 1}))
        return function(token), dict(context_api.get_current())
    arguments = {
        "context.get_value": ("a",),
        "context.set_value": ("a", 1),
        "trace.set_span_in_context": (trace.INVALID_SPAN,),
        "baggage.get_baggage": ("a",),
        "baggage.set_baggage": ("a", 1),
    }.get(name, ())
    found = function(*arguments)
    return (type(found), dict(found)) if hasattr(found, "keys") else found
