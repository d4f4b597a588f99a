"""Tracers and meters that a provider is asked for again, by name: many functions ask for theirs at each call.

Stock: 82,000 instructions for a tracer that it has made before, most of them for a filter of warnings; 49,000 for a
meter (CPython 3.13, SDK 1.45.2). A provider keeps all that it has made, and so it is kept here, under its name. Plain
Python; compiled as `by_name_c`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.patching import faults
from otel_fastpath.patching.plans import Plan, PlanStore

if TYPE_CHECKING:
    from collections.abc import Callable

PLAN: Final = "_otel_fastpath_by_name"
PLANS: Final = PlanStore(PLAN)


class NamedPlan(Plan):
    """What a provider has returned.

    Attributes:
        made: The provider's own dict, with all that it has made.
        known: The same, by name, version and schema URL.
    """

    __slots__ = ("known", "made")

    def __init__(self, made: dict[Any, Any]) -> None:
        self.made = made
        self.known: dict[Any, Any] = {}


def bind_get(original: Callable[..., Any], kind: type, held: str, *off: str) -> Callable[..., Any]:
    """Make what returns what a provider has made before, or else asks stock's method.

    Args:
        original: Stock's method.
        kind: The class of what it returns.
        held: The attribute of the provider with all that it has made.
        off: Its attributes that are true where it returns an object of another class.

    Returns:
        A function of the provider and the four arguments of stock's method.
    """

    def get(provider: Any, name: Any, version: Any, schema_url: Any, attributes: Any) -> Any:
        for each in off:
            if getattr(provider, each):
                return original(provider, name, version, schema_url, attributes)
        if attributes is not None:
            return original(provider, name, version, schema_url, attributes)
        plan, made, asked = getattr(provider, PLAN, None), getattr(provider, held), (name, version, schema_url)
        if plan is not None and plan.made is made:
            found = plan.known.get(asked)
            if found is not None:
                return found
        found = original(provider, name, version, schema_url)
        if type(found) is kind:
            try:
                _remember(provider, plan, made, asked, found)
            except Exception as error:
                faults.absorb("the name of a tracer or meter", error)
        return found

    return get


def _remember(provider: Any, plan: Any, made: Any, asked: Any, found: Any) -> None:
    name, version, schema_url = asked
    # Stock logs an error about an empty name each time. A value of another class may compare equal to a text.
    if (
        type(name) is str
        and name
        and (version is None or type(version) is str)
        and (schema_url is None or type(schema_url) is str)
        and type(made) is dict
    ):
        if plan is None or plan.made is not made:
            plan = PLANS.keep(NamedPlan(made), provider)
        plan.known[asked] = found
