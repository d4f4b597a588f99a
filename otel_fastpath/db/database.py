"""One wrapped database library: its set-up, and the connection plans of its connections."""

from __future__ import annotations

import sys
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from opentelemetry import trace

from otel_fastpath.compiled import hot
from otel_fastpath.db import conventions
from otel_fastpath.db.options import DatabaseOptions, parse
from otel_fastpath.db.query_plans import Active, QueryPlans
from otel_fastpath.patching.patch import Patch
from otel_fastpath.wrapping.call_span import new_query
from otel_fastpath.wrapping.library import Library, Rival

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.db.server_attributes import Server
    from otel_fastpath.wrapping.call import Failure
    from otel_fastpath.wrapping.library import Setup

# By their names: a library above a driver asks whether the driver's wrapper is on.
DATABASES: dict[str, Database] = {}


def _begin_nothing(*_arguments: Any) -> bool:
    """Begin no query: there is no set-up."""
    return False


def _make_nothing() -> None:
    """Make no query: likewise."""


class Entrance:
    """Where the wrappers of one kind of method find the functions that make and begin their query.

    The query is made before anything is begun: whoever is interrupted meanwhile ends it by its `failed`.

    Args:
        make: Makes the function that begins a query, for a set-up.
        makes_each: Whether a query is made that is not to begin, too.

    Attributes:
        new: Makes a query that has not begun, or None; see `Database.try_new_query`.
        enter: Begins it, given the arguments of the host's method; returns whether it is instrumented.
    """

    __slots__ = ("__weakref__", "_make", "_makes_each", "enter", "new")

    def __init__(self, make: Callable[[Any], Any], *, makes_each: bool) -> None:
        self._make = make
        self._makes_each = makes_each

    def use(self, database: Database) -> None:
        """Use the set-up of the library from now on, and its functions that make queries."""
        self.new: Any = database.new_query if self._makes_each else database.try_new_query
        self.enter: Any = _begin_nothing if database.active is None else self._make(database.active)


def is_active(name: str) -> bool:
    """Whether the wrapper of this library is on."""
    found = DATABASES.get(name)
    return found is not None and found.active is not None


class Database:
    """A wrapper's declaration of its database library. Its `configure`, `read` and `stop` are used by the `Library`.

    Args:
        name: The name of the library.
        server: Returns the server of a connection.
        status_code: Returns the database's own code for an exception, such as a SQLSTATE; None: it has none.
        connection: Returns the connection of the object that a method is called on, such as a cursor.
        connection_plan: The attribute of a connection that stores its plan; "protocol.connection_plan" is one of its
            protocol.
        options: The class of the options.
        stock: Returns the convention for spans if ours replaces the stock instrumentation.
        stable: Otherwise: returns the convention for spans under this scope.
        make_plans: The class of the plans.
        own: Returns anything else that a connection's plans depend on besides its server; must be hashable.
        has_rows: Whether the rows of results are counted.
        is_driver: Whether a library above, such as SQLAlchemy, can use it: then its queries are part of that one's.
        drivers: Other names of the library: SQLAlchemy's of its drivers.

    Attributes:
        place: The name of a call of the library for `faults.report`.
        connection_of: Returns the connection of the object that a method is called on.
        active: The set-up; None: there is none, and no call is instrumented.
        is_curious: Whether a call reads its arguments and its result.
        new_query: Makes a query that has not begun; see `call_span.new_query`.
        try_new_query: Likewise; None: none is to begin. See `entering.QueryMaker`.
    """

    def __init__(
        self,
        name: str,
        server: Callable[[Any], Server],
        *,
        status_code: Callable[[BaseException], Any] = lambda _error: None,
        connection: Callable[[Any], Any] = lambda held: held,
        connection_plan: str = "otel_fastpath_connection_plan",
        options: type[DatabaseOptions] = DatabaseOptions,
        stock: Callable[[Setup], Any] = lambda _setup: None,
        stable: Callable[[str], Any] = conventions.StableConventions,
        make_plans: type[QueryPlans] = QueryPlans,
        own: Callable[[Any], Any] = lambda _connection: None,
        has_rows: bool = True,
        is_driver: bool = True,
        drivers: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.place = f"a call of {name}"
        self.active: Any = None
        self.is_curious = False
        self.new_query: Any = new_query
        self.try_new_query: Any = _make_nothing
        self._server = server
        self._status_code = status_code
        self.connection_of = connection
        self._options = options
        self._stock = stock
        self._stable = stable
        self._make_plans = make_plans
        self._own = own
        self._has_rows = has_rows
        self._is_driver = is_driver
        self._connection_plan_of = attrgetter(connection_plan)
        # Attribute lookup is fastest with the same (interned) string object that the library uses.
        keeper, name = map(sys.intern, connection_plan.rpartition(".")[::2])
        self._keeper = keeper or None
        self._connection_plan_name = name
        # By the kind of the methods, see `entrance`.
        self._entrances: WeakValueDictionary[Any, Entrance] = WeakValueDictionary()
        DATABASES.update(dict.fromkeys((self.name, *drivers), self))

    def library(
        self,
        why: str,
        patches: tuple[Patch, ...],
        instrumentor: str,
        since: str,
        *,
        configure: Callable[[Setup], None] | None = None,
        stop: Callable[[], None] | None = None,
        **rival: Any,
    ) -> Library:
        """The declaration of the wrapper.

        Args:
            why: See `Library`.
            patches: Likewise.
            instrumentor: The class of the stock instrumentor, in the package that has the library's name.
            since: Its first release that the wrapper can replace.
            configure: What is called instead of `configure`, which it calls.
            stop: Likewise.
            rival: More of the `Rival`.
        """
        target = f"opentelemetry.instrumentation.{self.name}:{instrumentor}"
        emulated = f"opentelemetry-instrumentation-{self.name}>={since},<0.67"
        return Library(
            self.name,
            why,
            patches,
            configure or self.configure,
            self.read,
            (Rival("stock", target, (emulated,), **rival),),
            frozenset({self.name}),
            stop or self.stop,
        )

    def patch(
        self,
        name: str,
        target: str,
        why: str,
        make: Callable[[Any], Any],
        *budgets: str,
        requires: tuple[str, ...] = (),
        benched: str = "",
    ) -> Patch:
        """A patch of the library, whose replacement asks for the set-up at each call.

        Args:
            name: Its name after that of the library.
            target: See `Patch`.
            why: Likewise.
            make: Makes the replacement, given the original.
            budgets: The names of its scenarios after that of the library.
            requires: See `Patch`.
            benched: The library whose scenarios they are, if it is another with the same hooks.
        """
        return Patch(
            f"{self.name}.{name}",
            target,
            why,
            lambda original, _settings: make(original),
            requires,
            budgets=tuple(f"{benched or self.name}, {each}" for each in budgets),
        )

    def configure(self, setup: Setup) -> None:
        """Work with this set-up from now on."""
        self._leave()
        scope = f"otel_fastpath.{self.name}"
        self.active = Active(
            setup,
            scope,
            parse(self.name, setup.options, self._options),
            self._failure,
            convention=(self._stock(setup) if setup.rival else None) or self._stable(scope),
            make_plans=self._make_plans,
            has_rows=self._has_rows,
            is_driver=self._is_driver,
        )
        self.is_curious = self.active.is_curious
        self._enter_with(self.active)

    def read(self, setup: Setup) -> None:
        """Only read the options, to report invalid ones."""
        parse(self.name, setup.options, self._options)

    def stop(self) -> None:
        """Instrument no further call, even if some of our patches are still in place."""
        self._leave()
        self.active = None
        self._enter_with(None)

    def _enter_with(self, active: Any) -> None:
        self.new_query, self.try_new_query = new_query, _make_nothing
        if active is not None:
            self.new_query = active.hot.new_query
            self.try_new_query = active.queries.new
        for each in tuple(self._entrances.values()):
            each.use(self)

    def _leave(self) -> None:
        """Free what the set-up in use keeps."""
        if self.active is None:
            return
        if self.active.repeats is not None:
            self.active.repeats.release()
        self.active.release()

    def entrance(self, kind: Any, make: Callable[[Any], Any], *, makes_each: bool = False) -> Entrance:
        """Where wrappers find the function that begins their query.

        Args:
            kind: What identifies the methods.
            make: Makes the function for a set-up.
            makes_each: Whether a query is made that is not to begin, too.
        """
        found = self._entrances.get(kind)
        if found is None:
            found = self._entrances[kind] = Entrance(make, makes_each=makes_each)
            found.use(self)
        return found

    def of_opener(self, opener: Callable[[Any, Any], Any], *, is_curious: bool = True) -> Entrance:
        """The entrance for methods whose query an opener finds.

        Args:
            opener: See `call_wrappers.Opener`. It is called for each query, even if telemetry is suppressed.
            is_curious: Whether the wrapper looks at the arguments of a query that has begun, if the options need it.
        """

        def make(active: Any) -> Any:
            return hot.db_entering.Openings(active, self, opener, is_curious and active.is_curious).enter

        return self.entrance((opener, is_curious), make, makes_each=True)

    def of_connections(self, rows: str) -> Entrance:
        """The entrance for methods of connections to which a query's parameters are passed one by one.

        Args:
            rows: How the rows of the result are counted: the name of one of the constants in `wrapping.call_span`.
        """

        def make(active: Any) -> Any:
            kind = getattr(active.hot, rows)
            entering = hot.db_entering
            return entering.Connections(active, self, self._keeper, self._connection_plan_name, kind).enter

        return self.entrance(rows, make)

    def connection_plan(self, connection: Any) -> Any:
        """The connection plan of a connection, made again if the set-up has changed."""
        try:
            connection_plan = self._connection_plan_of(connection)
        except AttributeError:
            connection_plan = None
        if connection_plan is None or connection_plan.active is not self.active:
            return self.new_connection_plan(connection)
        return connection_plan

    def kept_connection_plan(self, held: Any) -> Any:
        """The stored connection plan of the object that a method is called on; None if there is none."""
        try:
            return self._connection_plan_of(self.connection_of(held))
        except AttributeError:
            return None

    def new_connection_plan(self, connection: Any) -> Any:
        """Make the connection plan of a connection, and store it there."""
        if self.active is None:
            raise RuntimeError(f"the {self.name} wrapper is not set up")
        plans = self.active.plans_of(self._server(connection), self._own(connection))
        connection_plan = self.active.connection_plan(plans)
        keeper = connection if self._keeper is None else getattr(connection, self._keeper, None)
        # A closed connection may no longer have this object.
        if keeper is not None:
            setattr(keeper, self._connection_plan_name, connection_plan)
        return connection_plan

    def enter_unrecorded(self, call: Any, args: Any) -> bool:
        """Begin a query without telemetry: it has no plan, or could not be begun because of an error in our code.

        What the library executes for it on this connection is part of it, not a query of its own.
        """
        connection_plan = self.kept_connection_plan(args[0])
        if connection_plan is None or connection_plan.call is not None:
            return False
        call_span = connection_plan.active.hot
        if type(call) is not call_span.QueryCall:
            # The core was changed meanwhile.
            return False
        call.recording = False
        call.connection_plan, call.kind = connection_plan, call_span.NO_ROWS
        call.plan = call_span.QueryPlan("", None, None, None, True)  # noqa: FBT003  # no keywords
        call.span = trace.get_current_span()
        connection_plan.call = call
        return True

    def _failure(self, error: BaseException) -> Failure:
        return conventions.failure(error, self._status_code(error))
