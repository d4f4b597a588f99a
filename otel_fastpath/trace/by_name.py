"""Tracers and meters that a provider is asked for again, by name: many functions ask for theirs at each call.

Stock: 82,000 instructions for a tracer that it has made before, most of them for a filter of warnings; 49,000 for a
meter (CPython 3.13, SDK 1.45.2). A provider keeps all that it has made, and so it is kept here, under its name. Plain
Python; compiled as `by_name_c`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.patching import faults
from otel_fastpath.patching.plans import Plan, PlanStore
from otel_fastpath.patching.stock import UNKNOWN, watched

if TYPE_CHECKING:
    from collections.abc import Callable

PLAN: Final = "_otel_fastpath_by_name"
PLANS: Final = PlanStore(PLAN)
# How a provider finds what it has made: other code may replace it.
_scopes = Facts(UNKNOWN)
_PLACE: Final = "looking for a tracer or meter by its name"


class NamedPlan(Plan):
    """What a provider has returned.

    Attributes:
        made: The provider's own dict, with all that it has made.
        known: The same, by name, version and schema URL; by name alone where that is all, which takes half the memory.
    """

    __slots__ = ("known", "made")

    def __init__(self, made: dict[Any, Any]) -> None:
        self.made = made
        self.known: dict[Any, Any] = {}


def bind_get(original: Callable[..., Any], kind: type, held: str, disabled: str, shut_down: str) -> Callable[..., Any]:
    """Make what returns what a provider has made before, or else asks stock's method.

    Args:
        original: Stock's method.
        kind: The class of what it returns.
        held: The attribute of the provider with all that it has made.
        disabled: The attribute that is False unless it returns an object of another class.
        shut_down: Likewise.

    Returns:
        A function of the provider and the four arguments of stock's method.
    """
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope  # noqa: PLC0415  # only where it is patched

    _scopes.renew(watched(InstrumentationScope, "__eq__", "__hash__", "__init__"))

    def get(provider: Any, name: Any, version: Any, schema_url: Any, attributes: Any) -> Any:
        plan = made = None
        asked = name if version is schema_url is None else (name, version, schema_url)
        try:
            # A value of another class may have no hash, or compare equal to a text.
            if (
                attributes is None
                and type(name) is str
                and (version is None or type(version) is str)
                and (schema_url is None or type(schema_url) is str)
                and not (getattr(provider, disabled, True) or getattr(provider, shut_down, True))
            ):
                plan, made = getattr(provider, PLAN, None), getattr(provider, held, None)
                # One that was emptied makes all anew.
                if plan is not None and (plan.made is not made or not made or not _scopes.hold()):
                    plan = None
                if plan is not None:
                    found = plan.known.get(asked)
                    if found is not None:
                        return found
        except Exception as error:
            faults.absorb(_PLACE, error)
            made = None
        found = original(provider, name, version, schema_url, attributes)
        # Stock logs an error about an empty name each time.
        if type(made) is dict and name and type(found) is kind:
            try:
                if plan is None:
                    plan = PLANS.keep(NamedPlan(made), provider)
                plan.known[asked] = found
            except Exception as error:
                faults.absorb(_PLACE, error)
        return found

    return get
