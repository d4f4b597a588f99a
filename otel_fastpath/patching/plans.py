"""Plans: what was worked out once for somebody's object, kept on that object, and used while its facts hold.

A hot module reads the attribute with the plan itself, and tests whose plan it is and what it rests on. All else is
here: the plan is kept, refused and forgotten, and not taken over by a copy. Plain Python; compiled as `plans_c`.
"""

from __future__ import annotations

import weakref
from contextlib import suppress
from typing import Any

from otel_fastpath.patching.sights import Sights


class Plan:
    """What was worked out once for one object, or for several that are alike.

    A copied object finds the plan of the first one in its `__dict__`; with `copy.deepcopy` and `pickle`, it finds None.

    Attributes:
        owner: The address of the object whose plan it is: `compiled.helpers.address`. 0: the next call makes another.
    """

    __slots__ = ("owner",)
    owner: int

    def __reduce__(self) -> tuple[Any, ...]:
        """As None."""
        return type(None), ()


class PlannedValues(Plan):
    """A plan that is nothing but some values."""

    __slots__ = ("values",)

    def __init__(self, *values: Any) -> None:
        self.values = values


class PlanOwner(weakref.ref):  # type: ignore[type-arg]  # generic for type checkers only
    """An object that has a plan, or can have none.

    Attributes:
        address: Its address.
        plan: The plan of an object that does not keep it itself; the store, if it does; None, if it can have none.
    """

    __slots__ = ("address", "plan")
    address: int
    plan: Any


class PlanStore:
    """Keeps the plans of objects, on these or beside them, until they are forgotten.

    Nothing here needs a lock: each step is one operation of a dict, and `keep` looks whether it came too late.

    Args:
        name: The attribute of an object that is its plan.
        most: How many objects keep their plans at a time; None: any number. See `try_make_room`.
    """

    __slots__ = ("_most", "_name", "_owners", "_sights")

    def __init__(self, name: str, most: int | None = None) -> None:
        self._name = name
        self._most = most
        self._sights = Sights()
        # By their addresses: an object that delegates to another one may compare equal to it.
        self._owners: dict[int, PlanOwner] = {}

    def try_make_room(self, owner: Any) -> bool:
        """Whether one more object may keep its plan: of too many, one that was seen before takes another's place."""
        if self._most is None or len(self._owners) < self._most:
            return True
        if not self._sights.note(id(owner)):
            return False
        # The newest: of many in turn, the others are found when they come again.
        with suppress(KeyError):
            self._remove(self._owners.popitem()[1])
        return True

    def keep(self, plan: Any, owner: Any) -> Any:
        """Keep a plan on its object if possible, and return it; else it serves one call."""
        address = plan.owner = id(owner)
        try:
            noted = self._note(owner, self)
            vars(owner)[self._name] = plan
        except TypeError:
            # The object has no `__dict__`, or cannot have weak references.
            return plan
        if self._owners.get(address) is not noted:
            # All plans were forgotten meanwhile, or another thread has kept one.
            vars(owner).pop(self._name, None)
        return plan

    def keep_values(self, owner: Any, *values: Any) -> PlannedValues:
        """Keep a plan of these values, likewise."""
        plan: PlannedValues = self.keep(PlannedValues(*values), owner)
        return plan

    def kept(self, owner: Any) -> Any:
        """The plan that an object keeps; None if it keeps none, or that of the object whose copy it is."""
        noted = self._owners.get(id(owner))
        if noted is None or noted.plan is not self or noted() is not owner:
            return None
        return vars(owner).get(self._name)

    def keep_beside(self, plan: Any, owner: Any) -> Any:
        """Keep a plan beside an object that delegates to another one, and return it.

        Raises:
            TypeError: The object cannot have weak references.
        """
        plan.owner = id(owner)
        self._note(owner, plan)
        return plan

    def beside(self, owner: Any) -> Any:
        """The plan that is kept beside an object, or None."""
        noted = self._noted(owner)
        return None if noted is None or noted.plan is self else noted.plan

    def refuse(self, owner: Any) -> None:
        """Make no plan for this object any more; one that cannot have weak references is looked at again."""
        with suppress(TypeError):
            self._note(owner, None)

    def is_refused(self, owner: Any) -> bool:
        """Whether the object can have no plan."""
        noted = self._noted(owner)
        return noted is not None and noted.plan is None

    def owners(self, *, refused: bool) -> list[Any]:
        """The objects that keep their plans, or those that can have none."""
        found = [each() for each in self._owners.copy().values() if each.plan is (None if refused else self)]
        return [each for each in found if each is not None]

    def drop(self, owner: Any) -> None:
        """Remove the plan of one object."""
        self._take(id(owner))

    def forget(self) -> list[tuple[Any, Any]]:
        """Remove all plans; return the objects that kept theirs, each with its plan."""
        found = [self._take(address) for address in list(self._owners)]
        return [each for each in found if each[1] is not None]

    def _note(self, owner: Any, plan: Any) -> PlanOwner:
        noted = PlanOwner(owner, self._lose)
        noted.address, noted.plan = id(owner), plan
        self._owners[noted.address] = noted
        return noted

    def _noted(self, owner: Any) -> PlanOwner | None:
        found = self._owners.get(id(owner))
        return None if found is None or found() is not owner else found

    def _lose(self, gone: PlanOwner) -> None:
        """Forget an object that is gone."""
        self._owners.pop(gone.address, None)

    def _take(self, address: int) -> tuple[Any, Any]:
        """Forget the object at this address; return it with the plan that it kept, or None."""
        noted = self._owners.pop(address, None)
        return (None, None) if noted is None else self._remove(noted)

    def _remove(self, noted: PlanOwner) -> tuple[Any, Any]:
        owner = noted() if noted.plan is self else None
        return owner, None if owner is None else vars(owner).pop(self._name, None)
